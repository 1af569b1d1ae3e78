//! A proxy that stands in front of a handler while someone else's tests run, and delivers every POST several times.
//!
//! The caller gets the first answer and notices nothing. Where the copies are answered otherwise, the watcher is told:
//! a sender would take a copy that is not answered 2xx for a failure.

mod forward;

use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::client::Client;
use crate::error::Error;
use crate::plan::{NotAPlan, Plan};
use crate::twice::address;

/// More connections wait until one is closed.
const CONNECTIONS_MAX: usize = 256;
/// What a listener that has run out of descriptors waits before it tries again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How copies are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// One copy, right after the first was answered.
    Again,
    /// So many at the same moment.
    Concurrent(u32),
}

/// One POST, and how each of its copies was answered.
#[derive(Debug, Clone, Serialize)]
pub struct Exchange {
    /// Where it went.
    pub path: String,
    /// The status of each copy; none where there was no answer.
    pub statuses: Vec<Option<u16>>,
}

/// What went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// POSTs that came in.
    pub received: u64,
    /// Of these, how many had copies that were answered otherwise.
    pub differing: u64,
}

/// The proxy.
pub struct Proxy {
    client: Client,
    repeat: Repeat,
    watch: Box<dyn Fn(&Exchange) + Send + Sync>,
    received: AtomicU64,
    differing: AtomicU64,
}

impl Proxy {
    /// A proxy to this address. A path in it goes before the path of each request.
    pub fn new(to: &str, repeat: Repeat) -> Result<Self, Error> {
        Ok(Self {
            client: Client::new(address(to)?)?,
            repeat,
            watch: Box::new(|_| {}),
            received: AtomicU64::new(0),
            differing: AtomicU64::new(0),
        })
    }

    /// Calls this with each POST whose copies were answered differently.
    #[must_use]
    pub fn watch(mut self, watch: impl Fn(&Exchange) + Send + Sync + 'static) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// Serves until `stop` is ready, and says what went through.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> Tally {
        let proxy = Arc::new(self);
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept(), if connections.len() < CONNECTIONS_MAX => match accepted {
                    Ok((stream, _)) => drop(connections.spawn(connection(Arc::clone(&proxy), stream))),
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
        Tally {
            received: proxy.received.load(Ordering::Relaxed),
            differing: proxy.differing.load(Ordering::Relaxed),
        }
    }

    /// Counts a POST, and tells of it where its copies differ.
    fn note(&self, exchange: &Exchange) {
        self.received.fetch_add(1, Ordering::Relaxed);
        if exchange
            .statuses
            .iter()
            .any(|status| *status != exchange.statuses[0])
        {
            self.differing.fetch_add(1, Ordering::Relaxed);
            (self.watch)(exchange);
        }
    }
}

async fn connection(proxy: Arc<Proxy>, stream: TcpStream) {
    let service = service_fn(move |request| {
        let proxy = Arc::clone(&proxy);
        async move { Ok::<_, std::convert::Infallible>(proxy.forward(request).await) }
    });
    // A client that goes away is its own business.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl FromStr for Repeat {
    type Err = NotARepeat;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse()? {
            Plan::Again => Ok(Self::Again),
            Plan::Concurrent(copies) => Ok(Self::Concurrent(copies)),
            Plan::HangUp
            | Plan::Slow
            | Plan::Late(_)
            | Plan::OutOfOrder
            | Plan::Crash(_)
            | Plan::Outage(_)
            | Plan::Unsigned
            | Plan::Tampered
            | Plan::Stale => Err(NotARepeat::NotHere(text.to_owned())),
        }
    }
}

/// A text that names no way to repeat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARepeat {
    /// It is no plan at all.
    #[error(transparent)]
    NotAPlan(#[from] NotAPlan),
    /// It needs events of its own.
    #[error(
        "`{0}` needs events of its own: a proxy can do `again` and `concurrent:N`; try `hapax twice run`"
    )]
    NotHere(String),
}

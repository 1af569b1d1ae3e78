//! A proxy in front of a handler that delivers every POST several times while another test suite runs.
//!
//! The client gets the first response and notices nothing. If the duplicates are answered differently, the watcher is
//! called: a provider would treat a duplicate that is not answered 2xx as a failure.

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

/// The maximum number of connections; further ones wait until one is closed.
const CONNECTIONS_MAX: usize = 256;
/// How long a listener that has run out of file descriptors waits before it tries again.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How requests are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// One duplicate, right after the first was answered.
    Again,
    /// This many requests at the same moment.
    Concurrent(u32),
}

/// One POST, and the responses to each of its deliveries.
#[derive(Debug, Clone, Serialize)]
pub struct Exchange {
    /// The path of the request.
    pub path: String,
    /// The status of each response; `None` if there was none.
    pub statuses: Vec<Option<u16>>,
}

/// The number of requests that were forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// POST requests received.
    pub received: u64,
    /// POST requests whose duplicates were answered differently.
    pub differing: u64,
}

/// The repeating proxy.
pub struct Proxy {
    client: Client,
    repeat: Repeat,
    watch: Box<dyn Fn(&Exchange) + Send + Sync>,
    received: AtomicU64,
    differing: AtomicU64,
}

impl Proxy {
    /// A proxy to this URL. Its path is prepended to the path of each request.
    pub fn new(to: &str, repeat: Repeat) -> Result<Self, Error> {
        Ok(Self {
            client: Client::new(address(to)?)?,
            repeat,
            watch: Box::new(|_| {}),
            received: AtomicU64::new(0),
            differing: AtomicU64::new(0),
        })
    }

    /// Calls `watch` with each POST whose duplicates were answered differently.
    #[must_use]
    pub fn watch(mut self, watch: impl Fn(&Exchange) + Send + Sync + 'static) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// Serves until `stop` is ready, and returns the counts.
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

    /// Counts a POST, and calls the watcher if its responses differ.
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
    // A client that disconnects is not an error.
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
            Plan::Concurrent(times) => Ok(Self::Concurrent(times)),
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

/// The string does not name a way to repeat.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARepeat {
    /// It is not a plan.
    #[error(transparent)]
    NotAPlan(#[from] NotAPlan),
    /// The plan needs its own events.
    #[error("`{0}` needs its own events: a proxy supports `again` and `concurrent:N`; try `hapax twice run`")]
    NotHere(String),
}

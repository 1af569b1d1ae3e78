//! A destination that keeps its promise: it applies an effect once per `Idempotency-Key`, and counts.
//!
//! The benchmark runs it in its own process and without faults. The demonstration makes it fail as real handlers do: it
//! refuses, it answers 500 after the effect was applied, and it hangs up before its answer, so that retries must happen
//! and must not take effect again.

mod effects;
mod faults;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub use effects::{Effects, Totals};
pub use faults::{Fault, Faults};

/// The path of the totals.
pub(crate) const TOTALS_PATH: &str = "/effects";

/// The largest body that any source accepts.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A running sink. It stops when dropped.
pub struct Sink {
    address: SocketAddr,
    effects: Arc<Effects>,
    // Held for its drop, which ends every connection.
    _tasks: JoinSet<()>,
}

impl Sink {
    /// Listens and serves.
    pub async fn start(listen: SocketAddr, effects: Effects, faults: Faults) -> io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let address = listener.local_addr()?;
        let effects = Arc::new(effects);
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&effects), faults));
        Ok(Self {
            address,
            effects,
            _tasks: tasks,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn effects(&self) -> &Effects {
        &self.effects
    }
}

/// The error that stands for no answer: hyper closes the connection when a service fails.
#[derive(Debug, thiserror::Error)]
#[error("the sink hangs up")]
struct HungUp;

async fn accept(listener: TcpListener, effects: Arc<Effects>, faults: Faults) {
    let mut connections = JoinSet::new();
    loop {
        // An error concerns one connection, or too many open files: the next accept may succeed.
        if let Ok((stream, _)) = listener.accept().await {
            connections.spawn(connection(stream, Arc::clone(&effects), faults));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, effects: Arc<Effects>, faults: Faults) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| answer(request, &effects, faults));
    // A connection that ends with an error was ended on purpose, or by the other side.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    effects: &Effects,
    faults: Faults,
) -> Result<Response<Full<Bytes>>, HungUp> {
    if request.method() == Method::GET && request.uri().path() == TOTALS_PATH {
        return Ok(totals(&effects.totals()));
    }
    let (head, body) = request.into_parts();
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(key), Some(event)) = (header("idempotency-key"), header("hapax-event-id")) else {
        effects.count_unnamed();
        return Ok(status(StatusCode::BAD_REQUEST));
    };
    // The effect needs the whole body: a delivery that was cut short does not count.
    if Limited::new(body, BODY_BYTES_MAX).collect().await.is_err() {
        return Err(HungUp);
    }
    match faults.draw() {
        Some(Fault::Refuse) => {
            effects.count_refused();
            Ok(status(StatusCode::SERVICE_UNAVAILABLE))
        }
        Some(Fault::FailAfterEffect) => {
            effects.apply(event, key);
            Ok(status(StatusCode::INTERNAL_SERVER_ERROR))
        }
        Some(Fault::HangUpAfterEffect) => {
            effects.apply(event, key);
            Err(HungUp)
        }
        None => {
            effects.apply(event, key);
            Ok(status(StatusCode::OK))
        }
    }
}

fn status(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

fn totals(totals: &Totals) -> Response<Full<Bytes>> {
    match serde_json::to_vec(totals) {
        Ok(text) => Response::new(Full::from(text)),
        Err(_) => status(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::connection::{Broken, Reconnecting, get};

    const LIMIT: Duration = Duration::from_secs(10);

    async fn start(faults: Faults) -> Sink {
        Sink::start("127.0.0.1:0".parse().unwrap(), Effects::default(), faults)
            .await
            .unwrap()
    }

    fn delivery(event: &str, key: &str) -> Vec<u8> {
        format!(
            "POST / HTTP/1.1\r\nhost: x\r\nidempotency-key: {key}\r\nhapax-event-id: {event}\r\ncontent-length: 2\r\n\r\n{{}}"
        )
        .into_bytes()
    }

    async fn deliver(sink: &Sink, event: &str, key: &str) -> Result<u16, Broken> {
        let mut connection = Reconnecting::new(sink.address(), LIMIT);
        connection
            .exchange(&delivery(event, key), |status, _| status)
            .await
    }

    #[tokio::test]
    async fn a_key_takes_effect_once_however_often_it_comes() {
        let sink = start(Faults::NONE).await;
        for _ in 0..3 {
            assert_eq!(deliver(&sink, "evt_1", "k1").await.unwrap(), 200);
        }
        let totals = sink.effects().totals();
        assert_eq!((totals.attempts, totals.effects, totals.events), (3, 1, 1));
        let (status, body) = get(sink.address(), TOTALS_PATH, "", LIMIT).await.unwrap();
        assert_eq!(
            (status, serde_json::from_slice::<Totals>(&body).unwrap()),
            (200, totals)
        );
    }

    #[tokio::test]
    async fn two_keys_of_one_event_are_two_effects_and_are_noticed() {
        let sink = start(Faults::NONE).await;
        deliver(&sink, "evt_1", "k1").await.unwrap();
        deliver(&sink, "evt_1", "k2").await.unwrap();
        let totals = sink.effects().totals();
        assert_eq!(
            (totals.effects, totals.events, totals.events_with_several_keys),
            (2, 1, 1)
        );
    }

    #[tokio::test]
    async fn a_lost_answer_leaves_the_effect_and_its_retry_adds_none() {
        let sink = start(Faults {
            refuse: 0,
            fail_after_effect: 0,
            hang_up_after_effect: 1000,
        })
        .await;
        for _ in 0..2 {
            let answer = deliver(&sink, "evt_1", "k1").await;
            assert!(
                matches!(answer, Err(Broken::Closed | Broken::Io(_))),
                "{answer:?}"
            );
        }
        assert_eq!(sink.effects().totals().effects, 1);
        assert_eq!(sink.effects().totals().attempts, 2);
    }

    #[tokio::test]
    async fn a_refused_delivery_has_no_effect_and_a_failed_one_has() {
        let refusing = start(Faults {
            refuse: 1000,
            fail_after_effect: 0,
            hang_up_after_effect: 0,
        })
        .await;
        assert_eq!(deliver(&refusing, "evt_1", "k1").await.unwrap(), 503);
        assert_eq!(refusing.effects().totals().effects, 0);
        let failing = start(Faults {
            refuse: 0,
            fail_after_effect: 1000,
            hang_up_after_effect: 0,
        })
        .await;
        assert_eq!(deliver(&failing, "evt_1", "k1").await.unwrap(), 500);
        assert_eq!(failing.effects().totals().effects, 1);
    }

    #[tokio::test]
    async fn a_delivery_without_a_key_is_refused_and_counted() {
        let sink = start(Faults::NONE).await;
        let mut connection = Reconnecting::new(sink.address(), LIMIT);
        let request = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(
            connection.exchange(request, |status, _| status).await.unwrap(),
            400
        );
        assert_eq!(sink.effects().totals().unnamed, 1);
    }
}

//! The proxy in front of real handlers: what is repeated, what the client gets, and what is reported.

#![expect(
    clippy::unwrap_used,
    reason = "test helpers may panic; the lint exempts only functions marked as tests"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use hapax_twice::{Exchange, Proxy, Repeat, Tally};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

#[tokio::test]
async fn a_post_is_delivered_twice_and_a_get_once_and_both_are_answered() {
    let (calls, reads) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (called, read) = (Arc::clone(&calls), Arc::clone(&reads));
    let router = Router::new()
        .route(
            "/app/hook",
            post(move |body: String| async move {
                called.fetch_add(1, Ordering::SeqCst);
                body
            }),
        )
        .route(
            "/app/page",
            get(move || async move { read.fetch_add(1, Ordering::SeqCst).to_string() }),
        );
    let proxy = Fixture::start(router, Repeat::Again).await;
    assert!(
        proxy
            .ask("POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello")
            .await
            .ends_with("hello")
    );
    assert!(
        proxy
            .ask("GET /page HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .ends_with('0')
    );
    assert_eq!(
        (calls.load(Ordering::SeqCst), reads.load(Ordering::SeqCst)),
        (2, 1)
    );
    let (tally, told) = proxy.stop().await;
    assert_eq!(
        (tally, told.len()),
        (
            Tally {
                received: 1,
                differing: 0
            },
            0
        )
    );
}

#[tokio::test]
async fn duplicates_that_are_answered_differently_are_reported_and_the_caller_gets_the_first_answer() {
    for repeat in [Repeat::Again, Repeat::Concurrent(3)] {
        let seen = AtomicU64::new(0);
        let seen = Arc::new(seen);
        let handler = move || {
            let first = seen.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                if first {
                    StatusCode::OK
                } else {
                    StatusCode::CONFLICT
                }
            }
        };
        let proxy = Fixture::start(Router::new().route("/app/hook", post(handler)), repeat).await;
        let answer = proxy
            .ask("POST /hook HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
            .await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let (tally, told) = proxy.stop().await;
        assert_eq!(
            tally,
            Tally {
                received: 1,
                differing: 1
            }
        );
        assert_eq!((told[0].path.as_str(), told[0].statuses[0]), ("/hook", Some(200)));
        assert!(
            told[0].statuses[1..].iter().all(|status| *status == Some(409)),
            "{told:?}"
        );
    }
}

#[test]
fn a_plan_that_needs_events_of_its_own_is_refused() {
    let error = "crash:true".parse::<Repeat>().unwrap_err().to_string();
    assert!(error.contains("hapax twice run"), "{error}");
}

struct Fixture {
    address: std::net::SocketAddr,
    told: Arc<Mutex<Vec<Exchange>>>,
    stop: oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<Tally>,
}

impl Fixture {
    async fn start(router: Router, repeat: Repeat) -> Self {
        let handler = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = format!("http://{}/app", handler.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(handler, router).await });
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        let proxy = Proxy::new(&to, repeat).unwrap();
        let proxy = proxy.watch(move |exchange| tell.lock().push(exchange.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(proxy.serve(listener, async move { drop(stopped.await) }));
        Self {
            address,
            told,
            stop,
            serving,
        }
    }

    async fn ask(&self, request: &str) -> String {
        let request = request.replacen("host: x", "host: x\r\nconnection: close", 1);
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn stop(self) -> (Tally, Vec<Exchange>) {
        self.stop.send(()).unwrap();
        let tally = self.serving.await.unwrap();
        let told = self.told.lock().clone();
        (tally, told)
    }
}

//! HTTP/2 over TLS has the same limits: several requests share a connection, and none can hold it forever.

use std::time::Duration;

use bytes::Bytes;
use hapax_ingest as ingest;
use hapax_listen as listen;
use hapax_server::Tuning;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::certified::Files;
use super::site::{Site, stripe_headers};

const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);

type Body = BoxBody<Bytes, std::io::Error>;

/// A connection, and the task that drives it.
async fn connect(files: &Files, site: &Site) -> (SendRequest<Body>, JoinHandle<hyper::Result<()>>) {
    let stream = files.connect(site, "127.0.0.1", "h2").await;
    let (sender, connection) = hyper::client::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    (sender, tokio::spawn(connection))
}

fn delivery(id: &str) -> Request<Body> {
    let body = format!(r#"{{"id":"{id}","type":"invoice.paid"}}"#);
    let mut request = Request::post("https://localhost/in/stripe");
    for (name, value) in stripe_headers(body.as_bytes()) {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {});
    request.body(body.boxed()).unwrap()
}

async fn status_of(response: Response<Incoming>) -> String {
    let document = response.into_body().collect().await.unwrap().to_bytes();
    let document: Value = serde_json::from_slice(&document).unwrap();
    document["status"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn duplicates_that_share_a_connection_are_one_event() {
    let files = Files::new();
    let site = files.serve(Tuning::default()).await;
    let (sender, _connection) = connect(&files, &site).await;
    let copies = (0..50).map(|_| {
        let mut sender = sender.clone();
        tokio::spawn(async move { status_of(sender.send_request(delivery("evt_1")).await.unwrap()).await })
    });
    let mut accepted = 0;
    for copy in copies.collect::<Vec<_>>() {
        accepted += usize::from(timeout(PATIENCE, copy).await.unwrap().unwrap() == "accepted");
    }
    assert_eq!(accepted, 1);
}

#[tokio::test]
async fn a_body_that_stalls_is_refused_alone_and_the_connection_goes_on() {
    let files = Files::new();
    let tuning = Tuning::default();
    let ingest = ingest::Limits {
        body_timeout: SHORT,
        ..tuning.ingest
    };
    let site = files.serve(Tuning { ingest, ..tuning }).await;
    let (mut sender, _connection) = connect(&files, &site).await;
    let first = futures_util::stream::once(async { Ok(Frame::data(Bytes::from_static(b"{"))) });
    let never = futures_util::stream::pending();
    let body = StreamBody::new(futures_util::StreamExt::chain(first, never));
    let stalled = delivery("evt_1").map(|_| body.boxed());
    let refused = sender.clone().send_request(stalled);
    let accepted = async {
        let first = status_of(sender.send_request(delivery("evt_1")).await.unwrap()).await;
        (
            first,
            status_of(sender.send_request(delivery("evt_1")).await.unwrap()).await,
        )
    };
    let (refused, accepted) = timeout(PATIENCE, async { tokio::join!(refused, accepted) })
        .await
        .unwrap();
    assert_eq!(refused.unwrap().status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(accepted, ("accepted".to_owned(), "duplicate".to_owned()));
    assert_eq!(
        status_of(sender.send_request(delivery("evt_1")).await.unwrap()).await,
        "duplicate"
    );
}

#[tokio::test]
async fn a_connection_without_requests_or_without_a_handshake_is_closed() {
    let files = Files::new();
    let tuning = Tuning::default();
    let listen = listen::Limits {
        head_timeout: SHORT,
        ..tuning.listen
    };
    let site = files.serve(Tuning { listen, ..tuning }).await;
    let (_sender, connection) = connect(&files, &site).await;
    let mut silent = TcpStream::connect(site.server.ingest_address()).await.unwrap();
    let mut half = TcpStream::connect(site.server.ingest_address()).await.unwrap();
    // The head of a record that never arrives.
    half.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00]).await.unwrap();
    let closed = async {
        let _ = connection.await.unwrap();
        assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0);
        assert_eq!(half.read(&mut [0]).await.unwrap_or(0), 0);
    };
    timeout(PATIENCE, closed).await.unwrap();
    let (mut sender, _connection) = connect(&files, &site).await;
    for status in ["accepted", "duplicate"] {
        assert_eq!(
            status_of(sender.send_request(delivery("evt_1")).await.unwrap()).await,
            status
        );
    }
}

#[tokio::test]
async fn a_service_that_stops_ends_connections_after_their_requests() {
    let files = Files::new();
    let site = files.serve(Tuning::default()).await;
    let (mut sender, connection) = connect(&files, &site).await;
    for status in ["accepted", "duplicate"] {
        assert_eq!(
            status_of(sender.send_request(delivery("evt_1")).await.unwrap()).await,
            status
        );
    }
    timeout(PATIENCE, site.server.stop()).await.unwrap();
    let ended = timeout(PATIENCE, connection).await.unwrap().unwrap();
    assert!(ended.is_ok(), "{ended:?}");
}

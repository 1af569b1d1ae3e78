//! The limits of `limits.rs` also apply over TLS, for HTTP/1.1 and HTTP/2. Every delivery is made twice.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hapax_listen as listen;
use hapax_server::Tuning;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::certified::Files;
use super::limits::{SHORT, UNPROVEN, impatient};
use super::site::{Site, stripe_headers};
use hapax_testkit::frames::{
    CONTINUATION, DATA, END_HEADERS, Frame, Frames, HEADERS, REFUSED_STREAM, RST_STREAM, head,
};
use hapax_testkit::{PATIENCE, Wire};

const BODY: &[u8] = br#"{"id":"evt_1"}"#;
const HERE: &str = "127.0.0.1";
/// The most concurrent requests on one connection.
const STREAMS_MAX: u32 = 128;

async fn wire(files: &Files, site: &Site, from: &str) -> Wire {
    Wire::over(files.connect(site, from, "http/1.1").await)
}

async fn frames(files: &Files, site: &Site) -> Frames {
    Frames::open(files.connect(site, HERE, "h2").await).await
}

async fn still_works(files: &Files, site: &Site, from: &str) {
    let mut wire = wire(files, site, from).await;
    for status in ["accepted", "duplicate"] {
        let reply = wire.post("/in/stripe", &stripe_headers(BODY), BODY).await;
        assert_eq!(reply.json()["status"], status);
    }
}

/// Headers that can only be verified with a body.
fn unproven() -> Vec<u8> {
    head(&[("stripe-signature".to_owned(), "t=1,v1=00".to_owned())])
}

/// The first frame of this kind.
async fn hear(frames: &mut Frames, kind: u8) -> Frame {
    let hearing = async {
        loop {
            let frame = frames.hear().await.expect("the connection goes on");
            if frame.kind == kind {
                return frame;
            }
        }
    };
    timeout(PATIENCE, hearing).await.expect("a frame in time")
}

#[tokio::test]
async fn a_slow_head_a_slow_body_and_a_large_head_are_refused_by_tls() {
    let files = Files::new();
    let site = files.serve(impatient()).await;
    for _ in 0..2 {
        let mut slow = wire(&files, &site, HERE).await;
        slow.say(b"POST /in/stripe HTTP/1.1\r\nhost: t\r\nx-slow").await;
        slow.hear().await.assert_problem(408, "head_timeout");
        assert!(slow.hear_out().await.is_empty());
        let mut slow = wire(&files, &site, HERE).await;
        slow.say(format!("{UNPROVEN}content-length: 100\r\n\r\nslow").as_bytes())
            .await;
        slow.hear().await.assert_problem(408, "body_timeout");
        let mut unsigned = wire(&files, &site, HERE).await;
        unsigned
            .say(b"POST /in/stripe HTTP/1.1\r\nhost: t\r\ncontent-length: 60000\r\n\r\n")
            .await;
        unsigned.hear().await.assert_problem(401, "signature_missing");
        let mut large = wire(&files, &site, HERE).await;
        let long = "x".repeat(200 * 1024);
        large
            .say(format!("POST /in/stripe HTTP/1.1\r\nx-long: {long}\r\n\r\n").as_bytes())
            .await;
        assert_eq!(large.hear().await.status, 431);
    }
    still_works(&files, &site, HERE).await;
}

#[tokio::test]
async fn a_handshake_that_trickles_is_closed_in_time() {
    let files = Files::new();
    let site = files.serve(impatient()).await;
    for _ in 0..2 {
        let begun = Instant::now();
        let mut slow = Wire::open(site.server.ingest_address()).await;
        // The beginning of a record that is never completed.
        slow.say(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await;
        slow.hear_out().await;
        assert!(begun.elapsed() < PATIENCE / 4, "{:?}", begun.elapsed());
    }
    still_works(&files, &site, HERE).await;
}

#[tokio::test]
async fn one_peer_has_no_more_tls_connections_than_its_own() {
    let files = Files::new();
    let tuning = Tuning::default();
    let listen = listen::Limits {
        peer_connections_max: 2,
        ..tuning.listen
    };
    let site = files.serve(Tuning { listen, ..tuning }).await;
    let _held = [wire(&files, &site, HERE).await, wire(&files, &site, HERE).await];
    let address: SocketAddr = site.server.ingest_address();
    let mut third = TcpStream::connect(address).await.unwrap();
    let closed = timeout(PATIENCE, third.read(&mut [0])).await.unwrap();
    assert_eq!(closed.unwrap_or(0), 0);
    still_works(&files, &site, "127.0.0.2").await;
}

#[tokio::test]
async fn a_head_by_http2_that_does_not_end_ends_the_connection() {
    let files = Files::new();
    let site = files.serve(impatient()).await;
    for _ in 0..2 {
        let mut slow = frames(&files, &site).await;
        slow.say(HEADERS, 0, 1, &unproven()).await.unwrap();
        timeout(PATIENCE, slow.hear_out()).await.unwrap();
    }
    // Also while its bytes keep arriving.
    let mut slow = frames(&files, &site).await;
    slow.say(HEADERS, 0, 1, &unproven()).await.unwrap();
    let trickling = async {
        while slow.say(CONTINUATION, 0, 1, &[0x00]).await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(PATIENCE, trickling).await.unwrap();
    still_works(&files, &site, HERE).await;
}

#[tokio::test]
async fn a_connection_has_no_more_streams_than_it_may() {
    let files = Files::new();
    let site = files.serve(Tuning::default()).await;
    let mut many = frames(&files, &site).await;
    for number in 0..=STREAMS_MAX {
        many.say(HEADERS, END_HEADERS, 2 * number + 1, &unproven())
            .await
            .unwrap();
    }
    let refused = hear(&mut many, RST_STREAM).await;
    assert_eq!(refused.stream, 2 * STREAMS_MAX + 1);
    assert_eq!(refused.payload, REFUSED_STREAM);
    still_works(&files, &site, HERE).await;
}

#[tokio::test]
async fn one_peer_has_no_more_requests_by_http2_than_connections() {
    let files = Files::new();
    let tuning = Tuning::default();
    let listen = listen::Limits {
        peer_connections_max: 4,
        ..tuning.listen
    };
    let site = files.serve(Tuning { listen, ..tuning }).await;
    let mut many = frames(&files, &site).await;
    for number in 0..5 {
        many.say(HEADERS, END_HEADERS, 2 * number + 1, &unproven())
            .await
            .unwrap();
    }
    // The others wait for their bodies.
    assert_eq!(hear(&mut many, HEADERS).await.stream, 9);
    let answer = hear(&mut many, DATA).await;
    let text = String::from_utf8(answer.payload).unwrap();
    assert!(
        text.contains("\"overloaded\"") && text.contains("4 requests from this address"),
        "{text}"
    );
    still_works(&files, &site, "127.0.0.2").await;
    drop(many);
    let mut freed = frames(&files, &site).await;
    let begun = Instant::now();
    // Until the service has noticed that they are gone.
    for stream in (1..).step_by(2) {
        freed.say(HEADERS, END_HEADERS, stream, &head(&[])).await.unwrap();
        hear(&mut freed, HEADERS).await;
        let text = String::from_utf8(hear(&mut freed, DATA).await.payload).unwrap();
        if text.contains("signature_missing") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{text}");
    }
}

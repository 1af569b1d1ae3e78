//! Strangers at a port that speaks TLS and HTTP/2: the limits of HTTP/1.1 apply here, too.
//!
//! They connect from 127.0.0.2, and the source from 127.0.0.1.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use super::report;
use hapax_testkit::certificate::Authority;
use hapax_testkit::curl::Curl;
use hapax_testkit::frames::{self, CONTINUATION, DATA, END_HEADERS, Frames, HEADERS, RST_STREAM, head};
use hapax_testkit::{Sender, Service, Setup, within};

const LIMIT: Duration = Duration::from_secs(60);
const HEADS: usize = 500;
const CONNECTIONS: usize = 4;
const STREAMS: u32 = 128;
/// Almost as long as a head may be.
const LONG: usize = 14 << 10;

async fn serve(authority: &Authority, limits: &str) -> Service {
    let setup = Setup::new()
        .server("admin_tls = false")
        .table(&format!("[server.limits]\n{limits}"))
        .source("stripe", "stripe", "");
    authority.certify(setup.path(), "tls");
    setup
        .table("[server.tls]\ncert = \"tls.crt\"\nkey = \"tls.key\"")
        .start()
        .await
}

async fn stranger(service: &Service) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    socket.connect(service.address()).await.unwrap()
}

async fn strange_frames(service: &Service) -> Frames {
    let cert = service.setup.path().join("tls.crt");
    Frames::open(frames::tls(stranger(service).await, cert, "h2").await).await
}

/// Delivers twice over HTTP/2.
async fn deliver(service: &Service, authority: &Authority, id: &str) {
    let event = Sender::of("stripe").event(id);
    for status in ["accepted", "duplicate"] {
        let answer = Curl::deliver(&format!("https://{}", service.address()), &event)
            .trusting(authority)
            .with(&["--http2"])
            .run()
            .await;
        let said = format!("\"status\":\"{status}\"");
        assert!(answer.body.contains(&said), "{answer:?}");
    }
}

/// A signature in the format of Stripe's, so that only verifying it reveals the forgery, and a long header.
fn unproven() -> Vec<u8> {
    let signature = ("stripe-signature".to_owned(), "t=1700000000,v1=00".to_owned());
    head(&[signature, ("x-long".to_owned(), "x".repeat(LONG))])
}

fn report_memory(attack: &str, tried: &str, grown: u64, count: usize) {
    let each = grown / count as u64;
    report::write(attack, tried, &format!("{:.1} KiB each", each as f64 / 1024.0));
    assert!(each < 96 << 10, "{each} bytes each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_heads_and_handshakes_by_tls_cost_little_memory() {
    let authority = Authority::new();
    let service = serve(&authority, "").await;
    deliver(&service, &authority, "evt_1").await;
    let before = service.resident_bytes();
    let mut held = Vec::new();
    for _ in 0..HEADS {
        let mut socket = stranger(&service).await;
        // A record of 16 KiB that is never completed.
        socket.write_all(&[0x16, 0x03, 0x01, 0x40, 0x00]).await.unwrap();
        socket.write_all(&vec![1; LONG]).await.unwrap();
        held.push(socket);
    }
    deliver(&service, &authority, "evt_2").await;
    let grown = service.resident_bytes().saturating_sub(before);
    let tried = format!("{HEADS} connections send 14 KiB of a TLS handshake and stop");
    report_memory("tls-handshakes", &tried, grown, HEADS);
    drop(held);

    let before = service.resident_bytes();
    let cert = service.setup.path().join("tls.crt");
    let mut held = Vec::new();
    for _ in 0..HEADS {
        let mut stream = frames::tls(stranger(&service).await, cert.clone(), "http/1.1").await;
        let beginning = format!("POST /in/stripe HTTP/1.1\r\nx-slow: {}", "x".repeat(LONG));
        stream.write_all(beginning.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        held.push(stream);
    }
    deliver(&service, &authority, "evt_3").await;
    let grown = service.resident_bytes().saturating_sub(before);
    let tried = format!("{HEADS} TLS connections send 14 KiB of a head and stop");
    report_memory("tls-heads", &tried, grown, HEADS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_stall_cost_what_connections_do_and_are_as_many() {
    let authority = Authority::new();
    let count = CONNECTIONS * STREAMS as usize;
    let service = serve(&authority, &format!("connections_per_peer = {count}")).await;
    deliver(&service, &authority, "evt_1").await;
    let before = service.resident_bytes();
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut frames = strange_frames(&service).await;
        for number in 0..STREAMS {
            let stream = 2 * number + 1;
            frames
                .say(HEADERS, END_HEADERS, stream, &unproven())
                .await
                .unwrap();
            frames.say(DATA, 0, stream, b"{\"id\":\"evt_1\",").await.unwrap();
        }
        held.push(frames);
    }
    for frames in &mut held {
        within("the server reads all requests", LIMIT, frames.until_read()).await;
    }
    deliver(&service, &authority, "evt_2").await;
    let grown = service.resident_bytes().saturating_sub(before);
    let tried =
        format!("{CONNECTIONS} HTTP/2 connections hold {STREAMS} requests each, with heads of 14 KiB");
    report_memory("http2-streams", &tried, grown, count);
    // As many as one address may have at the same time: one more is refused.
    let mut more = strange_frames(&service).await;
    more.say(HEADERS, END_HEADERS, 1, &unproven()).await.unwrap();
    let refused = within("one more is refused", LIMIT, async {
        loop {
            let frame = more.hear().await.unwrap();
            if frame.kind == DATA {
                return String::from_utf8(frame.payload).unwrap();
            }
        }
    });
    let refused = refused.await;
    assert!(refused.contains("\"overloaded\""), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_of_frames_end_their_connection() {
    let authority = Authority::new();
    let service = serve(&authority, "").await;
    let mut resets = 0_u32;
    let mut frames = strange_frames(&service).await;
    while resets < 1_000_000 {
        let stream = 2 * resets + 1;
        if frames
            .say(HEADERS, END_HEADERS, stream, &unproven())
            .await
            .is_err()
            || frames.say(RST_STREAM, 0, stream, &[0, 0, 0, 8]).await.is_err()
        {
            break;
        }
        resets += 1;
    }
    deliver(&service, &authority, "evt_1").await;
    report::write(
        "http2-resets",
        "one connection opens requests and resets them at once",
        &format!("ended after {resets}"),
    );
    let mut frames = strange_frames(&service).await;
    frames.say(HEADERS, 0, 1, &unproven()).await.unwrap();
    let piece = vec![0; 4 << 10];
    let mut bytes = 0;
    while bytes < 1 << 30 && frames.say(CONTINUATION, 0, 1, &piece).await.is_ok() {
        bytes += piece.len();
    }
    deliver(&service, &authority, "evt_2").await;
    report::write(
        "http2-continuations",
        "one connection sends a head that does not end",
        &format!("ended after {} KiB", bytes >> 10),
    );
    assert!(resets < 10_000, "{resets} requests");
    assert!(bytes < 8 << 20, "{bytes} bytes");
}

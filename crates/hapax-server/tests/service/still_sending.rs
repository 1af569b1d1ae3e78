//! A refusal reaches a client that sends its whole request before it reads, and clients cannot abuse that. Every
//! delivery is made twice.

use std::time::{Duration, Instant};

use hapax_ingest as ingest;
use hapax_listen as listen;
use hapax_server::Tuning;
use hapax_testkit::wire::request;
use hapax_testkit::{HttpResponse, Wire};

use super::site::{Site, stripe_headers};

/// The beginning of a request that can only be verified with its body.
const UNPROVEN: &str = "POST /in/stripe HTTP/1.1\r\nhost: t\r\nstripe-signature: t=1,v1=00\r\n";
const SHORT: Duration = Duration::from_millis(150);
const LARGE: usize = 6 << 20;
/// A result that is right by chance is not right twenty times.
const TIMES: usize = 20;

async fn still_works(site: &Site) {
    assert_eq!(site.stripe("evt_after").await.json()["status"], "accepted");
    assert_eq!(site.stripe("evt_after").await.json()["status"], "duplicate");
}

/// A request with a body over the limit; the admin port requires its own host name.
fn large(method: &str, path: &str) -> Vec<u8> {
    let head = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {LARGE}\r\n\r\n");
    [head.as_bytes(), &vec![b'x'; LARGE]].concat()
}

/// Writes everything, and only then reads.
async fn refused(address: std::net::SocketAddr, bytes: &[u8]) -> HttpResponse {
    let mut wire = Wire::open(address).await;
    wire.say(bytes).await;
    let reply = wire.hear().await;
    assert_eq!(reply.header("connection"), Some("close"), "{reply:?}");
    reply
}

#[tokio::test]
async fn every_early_refusal_is_heard_by_a_client_that_sends_first() {
    let tuning = Tuning::default();
    let listen = listen::Limits {
        linger: listen::Linger {
            bytes_per_second_max: u32::MAX,
            ..listen::Linger::default()
        },
        ..tuning.listen
    };
    let site = Site::tuned("", Tuning { listen, ..tuning }).await;
    let (ingest, admin) = (site.server.ingest_address(), site.server.admin_address());
    let chunked = [
        &b"POST /in/stripe HTTP/1.1\r\nhost: t\r\nstripe-signature: t=1,v1=00\r\ntransfer-encoding: chunked\r\n\r\n600000\r\n"[..],
        &vec![b'x'; LARGE],
        b"\r\n0\r\n\r\n",
    ];
    for _ in 0..TIMES {
        for (address, method, path, status, code) in [
            (ingest, "POST", "/in/stripe", 413, "body_too_large"),
            (ingest, "POST", "/in/strpie", 404, "unknown_source"),
            (ingest, "POST", "/webhooks", 404, "not_found"),
            (ingest, "PUT", "/in/stripe", 405, "method_not_allowed"),
            (admin, "POST", "/api/v1/nowhere", 404, "unknown_path"),
        ] {
            refused(address, &large(method, path))
                .await
                .assert_problem(status, code);
        }
        refused(ingest, &chunked.concat())
            .await
            .assert_problem(413, "body_too_large");
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_head_that_is_too_large_is_heard_to_be() {
    let site = Site::start("").await;
    let headers = [("x-long".to_owned(), "x".repeat(LARGE))];
    let bomb = request("POST", "/in/stripe", &headers, b"");
    for _ in 0..TIMES {
        let reply = refused(site.server.ingest_address(), &bomb).await;
        assert_eq!(reply.status, 431);
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_client_whose_body_is_late_may_send_the_rest_of_it() {
    let tuning = Tuning::default();
    let ingest = ingest::Limits {
        body_timeout: SHORT,
        ..tuning.ingest
    };
    let site = Site::tuned("", Tuning { ingest, ..tuning }).await;
    for _ in 0..2 {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(format!("{UNPROVEN}content-length: 60000\r\n\r\nslow").as_bytes())
            .await;
        wire.hear().await.assert_problem(408, "body_timeout");
        // Twice: the first write after a reset still succeeds.
        wire.say(&vec![b'x'; 30_000]).await;
        wire.say(&vec![b'x'; 29_996]).await;
        assert!(wire.hear_out().await.is_empty());
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_delivery_that_there_is_no_room_for_hears_503() {
    let tuning = Tuning::default();
    let ingest = ingest::Limits {
        unproven_bytes_max: 1_000,
        ..tuning.ingest
    };
    let site = Site::tuned("", Tuning { ingest, ..tuning }).await;
    let large = request("POST", "/in/stripe", &stripe_headers(b""), &vec![b'x'; 60 << 10]);
    for _ in 0..TIMES {
        refused(site.server.ingest_address(), &large)
            .await
            .assert_problem(503, "overloaded");
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_connection_too_many_hears_503_even_while_it_sends() {
    let tuning = Tuning::default();
    let listen = listen::Limits {
        connections_max: 1,
        ..tuning.listen
    };
    let site = Site::tuned("", Tuning { listen, ..tuning }).await;
    let address = site.server.ingest_address();
    let body = br#"{"id":"evt_1"}"#;
    let mut only = Wire::open(address).await;
    let first = only.post("/in/stripe", &stripe_headers(body), body).await;
    for _ in 0..TIMES {
        refused(address, &large("POST", "/in/stripe"))
            .await
            .assert_problem(503, "overloaded");
    }
    let second = only.post("/in/stripe", &stripe_headers(body), body).await;
    assert_eq!(first.json()["status"], "accepted");
    assert_eq!(second.json()["status"], "duplicate");
}

#[tokio::test]
async fn a_client_that_asks_before_it_sends_is_refused_at_once() {
    let site = Site::start("").await;
    for (path, status) in [("/in/stripe", 413), ("/in/strpie", 404)] {
        for _ in 0..2 {
            let mut wire = Wire::open(site.server.ingest_address()).await;
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: t\r\nexpect: 100-continue\r\ncontent-length: {LARGE}\r\n\r\n"
            );
            wire.say(head.as_bytes()).await;
            assert_eq!(wire.hear().await.status, status);
            assert!(wire.hear_out().await.is_empty());
        }
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_client_that_never_ends_is_cut_off_after_its_refusal() {
    let tuning = Tuning::default();
    let default = listen::Linger::default();
    let soon = listen::Linger {
        within: SHORT,
        ..default
    };
    let little = listen::Linger {
        bytes_max: LARGE,
        ..default
    };
    let nobody = listen::Linger {
        connections_max: 0,
        ..default
    };
    for linger in [soon, little, nobody] {
        let listen = listen::Limits {
            linger,
            ..tuning.listen
        };
        let site = Site::tuned(
            "",
            Tuning {
                listen,
                ..tuning.clone()
            },
        )
        .await;
        for _ in 0..2 {
            let mut wire = Wire::open(site.server.ingest_address()).await;
            wire.say(b"POST /in/stripe HTTP/1.1\r\nhost: t\r\ncontent-length: 1099511627776\r\n\r\n")
                .await;
            wire.hear().await.assert_problem(413, "body_too_large");
            wire.say_endlessly(&[b'x'; 4096]).await;
        }
        still_works(&site).await;
    }
}

#[tokio::test]
async fn nobody_who_lingers_delays_a_stop_or_holds_the_budget() {
    let tuning = Tuning::default();
    let forever = Duration::from_secs(600);
    let listen = listen::Limits {
        linger: listen::Linger {
            within: forever,
            silence_max: forever,
            ..listen::Linger::default()
        },
        ..tuning.listen
    };
    let ingest = ingest::Limits {
        body_timeout: SHORT,
        unproven_bytes_max: 60_000,
        ..tuning.ingest
    };
    let site = Site::tuned(
        "",
        Tuning {
            listen,
            ingest,
            ..tuning
        },
    )
    .await;
    let mut lingering = Vec::new();
    for _ in 0..2 {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(format!("{UNPROVEN}content-length: 60000\r\n\r\n").as_bytes())
            .await;
        wire.say(&vec![b'x'; 50_000]).await;
        wire.hear().await.assert_problem(408, "body_timeout");
        lingering.push(wire);
    }
    still_works(&site).await;
    let stopping = Instant::now();
    site.server.stop().await;
    let took = stopping.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    for mut wire in lingering {
        wire.say_endlessly(b"x").await;
    }
}

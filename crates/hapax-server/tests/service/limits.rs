//! Clients that are too slow, too large or too many are cut off, and no other client notices. Every delivery is made
//! twice.

use std::time::{Duration, Instant};

use hapax_ingest as ingest;
use hapax_listen as listen;
use hapax_server::{Server, Tuning};
use hapax_testkit::wire::{post, request};
use hapax_testkit::{PATIENCE, Wire};

use super::site::{STRIPE, Site, configuration, stripe_headers};

const BODY: &[u8] = br#"{"id":"evt_1"}"#;
pub(super) const SHORT: Duration = Duration::from_millis(150);

pub(super) fn impatient() -> Tuning {
    let tuning = Tuning::default();
    Tuning {
        listen: listen::Limits {
            head_timeout: SHORT,
            ..tuning.listen
        },
        ingest: ingest::Limits {
            body_timeout: SHORT,
            ..tuning.ingest
        },
        ..tuning
    }
}

/// The beginning of a request that can only be verified with its body.
pub(super) const UNPROVEN: &str = "POST /in/stripe HTTP/1.1\r\nhost: t\r\nstripe-signature: t=1,v1=00\r\n";

async fn still_works(site: &Site) {
    assert_eq!(site.stripe("evt_after").await.json()["status"], "accepted");
    assert_eq!(site.stripe("evt_after").await.json()["status"], "duplicate");
}

#[tokio::test]
async fn an_endless_body_is_cut_off() {
    let site = Site::start("").await;
    for _ in 0..2 {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(format!("{UNPROVEN}transfer-encoding: chunked\r\n\r\n").as_bytes())
            .await;
        // Two chunks of 40,000 bytes are over the limit of 64 KiB, and a third is announced.
        for _ in 0..2 {
            wire.say(b"9c40\r\n").await;
            wire.say(&vec![b'x'; 40_000]).await;
            wire.say(b"\r\n").await;
        }
        wire.hear().await.assert_problem(413, "body_too_large");
        wire.hear_out().await;
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_slow_body_is_cut_off() {
    let site = Site::tuned("", impatient()).await;
    for _ in 0..2 {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(format!("{UNPROVEN}content-length: 100\r\n\r\nslow").as_bytes())
            .await;
        wire.hear().await.assert_problem(408, "body_timeout");
        wire.hear_out().await;
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_body_below_the_least_rate_is_cut_off_long_before_its_time() {
    let tuning = Tuning::default();
    let ingest = ingest::Limits {
        body_grace: Duration::from_secs(1),
        body_timeout: Duration::from_secs(600),
        ..tuning.ingest
    };
    let site = Site::tuned("", Tuning { ingest, ..tuning }).await;
    for _ in 0..2 {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(format!("{UNPROVEN}content-length: 60000\r\n\r\n").as_bytes())
            .await;
        // A fast start is no excuse.
        wire.say(&vec![b'x'; 30_000]).await;
        let reply = wire.hear().await;
        reply.assert_problem(408, "body_timeout");
        assert!(
            reply.json()["detail"]
                .as_str()
                .unwrap()
                .contains("1024 bytes per second")
        );
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_request_without_its_proof_is_refused_before_its_body_comes() {
    let site = Site::start("").await;
    for _ in 0..2 {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(b"POST /in/stripe HTTP/1.1\r\nhost: t\r\ncontent-length: 60000\r\n\r\n")
            .await;
        wire.hear().await.assert_problem(401, "signature_missing");
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_flood_of_refusals_is_held_back_and_who_is_well_signed_is_not() {
    let tuning = Tuning::default();
    let ingest = ingest::Limits {
        peer_refusals: "1/s".parse().unwrap(),
        ..tuning.ingest
    };
    let site = Site::tuned("", Tuning { ingest, ..tuning }).await;
    let started = Instant::now();
    for _ in 0..4 {
        site.post("/in/stripe", &[], BODY)
            .await
            .assert_problem(401, "signature_missing");
    }
    assert!(
        started.elapsed() >= Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
    // From the same address.
    let started = Instant::now();
    still_works(&site).await;
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn a_slow_head_and_an_idle_connection_are_cut_off() {
    let site = Site::tuned("", impatient()).await;
    let mut silent = Wire::open(site.server.ingest_address()).await;
    assert!(silent.hear_out().await.is_empty());
    for beginning in [
        &b"POST /in/stri"[..],
        b"POST /in/stripe HTTP/1.1\r\nhost: t\r\nx-slow",
    ] {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(beginning).await;
        wire.hear().await.assert_problem(408, "head_timeout");
        assert!(wire.hear_out().await.is_empty());
        let mut used = Wire::open(site.server.ingest_address()).await;
        used.post("/in/stripe", &stripe_headers(BODY), BODY).await;
        used.say(beginning).await;
        used.hear().await.assert_problem(408, "head_timeout");
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_connection_that_was_used_is_kept_for_as_long_as_is_configured() {
    let dir = tempfile::tempdir().unwrap();
    for (keep_alive, is_kept) in [(2 * SHORT, false), (Duration::from_secs(3600), true)] {
        let mut config = configuration(dir.path(), STRIPE);
        config.server.keep_alive = keep_alive;
        let server = Server::start(config, impatient()).await.unwrap();
        let opened = Instant::now();
        let mut used = Wire::open(server.ingest_address()).await;
        used.post("/in/stripe", &stripe_headers(BODY), BODY).await;
        if is_kept {
            // Well beyond the time limit for a first head.
            tokio::time::timeout(4 * SHORT, used.hear_out())
                .await
                .unwrap_err();
            used.post("/in/stripe", &stripe_headers(BODY), BODY).await;
        } else {
            assert!(used.hear_out().await.is_empty());
            assert!(opened.elapsed() >= keep_alive, "{:?}", opened.elapsed());
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_431() {
    let site = Site::start("").await;
    let many: Vec<(String, String)> = (0..200)
        .map(|number| (format!("x-{number}"), "1".to_owned()))
        .collect();
    let long = vec![("x-long".to_owned(), "x".repeat(200 * 1024))];
    for headers in [many, long] {
        for _ in 0..2 {
            let mut wire = Wire::open(site.server.ingest_address()).await;
            wire.say(&request("POST", "/in/stripe", &headers, b"")).await;
            assert_eq!(wire.hear().await.status, 431);
        }
    }
    still_works(&site).await;
}

#[tokio::test]
async fn a_client_that_hangs_up_in_its_body_claims_nothing() {
    let site = Site::start("").await;
    let whole = request("POST", "/in/stripe", &stripe_headers(BODY), BODY);
    for cut in [whole.len() - 1, whole.len() - BODY.len(), 20] {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(&whole[..cut]).await;
        drop(wire);
    }
    let first = site.post("/in/stripe", &stripe_headers(BODY), BODY).await;
    assert_eq!(first.json()["status"], "accepted");
    let second = site.post("/in/stripe", &stripe_headers(BODY), BODY).await;
    assert_eq!(second.json()["status"], "duplicate");
}

#[tokio::test]
async fn a_client_that_waits_for_permission_to_send_gets_it() {
    let site = Site::start("").await;
    for status in ["accepted", "duplicate"] {
        let mut headers = stripe_headers(BODY);
        headers.push(("expect".to_owned(), "100-continue".to_owned()));
        let whole = request("POST", "/in/stripe", &headers, BODY);
        let (head, body) = whole.split_at(whole.len() - BODY.len());
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(head).await;
        assert_eq!(wire.hear().await.status, 100);
        wire.say(body).await;
        assert_eq!(wire.hear().await.json()["status"], status);
    }
}

#[tokio::test]
async fn one_connection_too_many_is_told_so() {
    let tuning = Tuning::default();
    let limits = listen::Limits {
        connections_max: 2,
        ..tuning.listen
    };
    let site = Site::tuned(
        "",
        Tuning {
            listen: limits,
            ..tuning
        },
    )
    .await;
    let address = site.server.ingest_address();
    let mut first = Wire::open(address).await;
    first.post("/in/stripe", &stripe_headers(BODY), BODY).await;
    let mut second = Wire::open(address).await;
    second.post("/in/stripe", &stripe_headers(BODY), BODY).await;
    let third = post(address, "/in/stripe", &stripe_headers(BODY), BODY).await;
    third.assert_problem(503, "overloaded");
    assert_eq!(third.header("retry-after"), Some("1"));
    drop(first);
    // The slot is free once the service has noticed; until then clients are told to retry.
    let mut status = 503;
    while status == 503 {
        status = post(address, "/in/stripe", &stripe_headers(BODY), BODY)
            .await
            .status;
    }
    assert_eq!(status, 200);
}

#[tokio::test]
async fn one_peer_has_no_more_connections_than_its_own() {
    let tuning = Tuning::default();
    let listen = listen::Limits {
        peer_connections_max: 2,
        ..tuning.listen
    };
    let site = Site::tuned("", Tuning { listen, ..tuning }).await;
    let address = site.server.ingest_address();
    let _held = [Wire::open(address).await, Wire::open(address).await];
    let reply = post(address, "/in/stripe", &stripe_headers(BODY), BODY).await;
    reply.assert_problem(503, "overloaded");
    assert!(
        reply.json()["detail"]
            .as_str()
            .unwrap()
            .contains("connections_per_peer")
    );
    for status in ["accepted", "duplicate"] {
        let mut other = Wire::open_from("127.0.0.2", address).await;
        let reply = other.post("/in/stripe", &stripe_headers(BODY), BODY).await;
        assert_eq!(reply.json()["status"], status);
    }
}

#[tokio::test]
async fn a_thousand_idle_connections_do_not_hurt() {
    let site = Site::start("").await;
    let mut idle = Vec::new();
    for _ in 0..1_000 {
        idle.push(Wire::open(site.server.ingest_address()).await);
    }
    tokio::time::timeout(PATIENCE, still_works(&site)).await.unwrap();
    drop(idle);
}

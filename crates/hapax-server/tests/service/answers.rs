//! Every row of the response table that exists so far. Every delivery is made twice.

use hapax_ingest as ingest;
use hapax_server::Tuning;
use hapax_testkit::Wire;

use super::site::{OTHER_SECRET, SECRET, Site, admin, now, stripe_headers, stripe_headers_with};

const BODY: &[u8] = br#"{"id":"evt_1","type":"invoice.paid"}"#;

#[tokio::test]
async fn the_first_is_accepted_and_the_second_is_its_duplicate() {
    let site = Site::start("").await;
    let first = site.stripe("evt_1").await;
    assert_eq!(first.status, 200);
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(first.json()["status"], "accepted");
    assert_eq!(first.json()["event_id"], "evt_1");
    let second = site.stripe("evt_1").await;
    assert_eq!(second.status, 200);
    assert_eq!(second.json()["status"], "duplicate");
    assert_eq!(second.json()["id"], first.json()["id"]);
    let first_seen: hapax_core::Timestamp = second.json()["first_seen"].as_str().unwrap().parse().unwrap();
    assert!((first_seen.as_seconds() - now()).abs() < 60);
}

#[tokio::test]
async fn every_further_duplicate_gets_the_same_answer_and_is_verified_and_counted_like_the_first() {
    let site = Site::start("").await;
    let first = site.stripe("evt_1").await;
    let second = site.stripe("evt_1").await;
    assert_eq!(second.json()["status"], "duplicate");
    for _ in 0..3 {
        assert_eq!(site.stripe("evt_1").await.json(), second.json());
    }
    assert_eq!(second.json()["id"], first.json()["id"]);
    // A known body proves nothing, and another one is no duplicate.
    site.post("/in/stripe", &[], BODY)
        .await
        .assert_problem(401, "signature_missing");
    let wrong = stripe_headers_with(OTHER_SECRET, now(), BODY);
    site.post("/in/stripe", &wrong, BODY)
        .await
        .assert_problem(401, "signature_invalid");
    let other = br#"{"id":"evt_1","type":"invoice.voided"}"#;
    for _ in 0..2 {
        let reply = site.post("/in/stripe", &stripe_headers(other), other).await;
        assert_eq!(reply.json()["status"], "conflict");
    }
    let metrics = admin(&site.server, "GET", "/metrics", "").await;
    let counted = "hapax_received_total{source=\"stripe\",result=\"duplicate\"} 4";
    assert!(metrics.text().contains(counted), "{}", metrics.text());
}

#[tokio::test]
async fn the_same_id_with_another_body_is_a_conflict() {
    let site = Site::start("").await;
    let first = site.stripe("evt_1").await;
    let other = br#"{"id":"evt_1","type":"invoice.voided"}"#;
    for _ in 0..2 {
        let reply = site.post("/in/stripe", &stripe_headers(other), other).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json()["status"], "conflict");
        assert_eq!(reply.json()["id"], first.json()["id"]);
    }
}

#[tokio::test]
async fn a_source_may_ask_for_202() {
    let more = "[sources.later]\nprovider = \"stripe\"\nsecrets = [\"env:SECRET\"]\nack_status = 202\n";
    let site = Site::start(more).await;
    let headers = stripe_headers(BODY);
    assert_eq!(site.post("/in/later", &headers, BODY).await.status, 202);
    let second = site.post("/in/later", &headers, BODY).await;
    assert_eq!(second.status, 200);
    assert_eq!(second.json()["status"], "duplicate");
}

#[tokio::test]
async fn what_is_not_proven_is_401_with_the_reason() {
    let site = Site::start("").await;
    let late = stripe_headers_with(SECRET, now() - 600, BODY);
    let wrong = stripe_headers_with(OTHER_SECRET, now(), BODY);
    for (headers, code) in [
        (vec![], "signature_missing"),
        (wrong, "signature_invalid"),
        (late, "timestamp_out_of_range"),
    ] {
        for _ in 0..2 {
            site.post("/in/stripe", &headers, BODY)
                .await
                .assert_problem(401, code);
        }
    }
    // None of these claimed the id.
    assert_eq!(site.stripe("evt_1").await.json()["status"], "accepted");
}

#[tokio::test]
async fn an_unknown_source_and_an_unknown_path_are_404() {
    let site = Site::start("").await;
    for _ in 0..2 {
        site.post("/in/strip", &stripe_headers(BODY), BODY)
            .await
            .assert_problem(404, "unknown_source");
        site.post("/in/", &[], BODY)
            .await
            .assert_problem(404, "unknown_source");
        site.post("/", &[], BODY).await.assert_problem(404, "not_found");
    }
}

#[tokio::test]
async fn another_method_is_405_and_says_which_is_right() {
    let site = Site::start("").await;
    for method in ["GET", "OPTIONS", "PUT", "DELETE", "BREW"] {
        let mut wire = Wire::open(site.server.ingest_address()).await;
        for _ in 0..2 {
            let reply = wire.ask(method, "/in/stripe", &[], b"").await;
            reply.assert_problem(405, "method_not_allowed");
            assert_eq!(reply.header("allow"), Some("POST"));
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_announced_or_not() {
    let site = Site::start("").await;
    let large = vec![b'x'; 64 * 1024 + 1];
    for _ in 0..2 {
        site.post("/in/stripe", &stripe_headers(&large), &large)
            .await
            .assert_problem(413, "body_too_large");
        let mut wire = Wire::open(site.server.ingest_address()).await;
        wire.say(b"POST /in/stripe HTTP/1.1\r\nhost: t\r\nstripe-signature: t=1,v1=00\r\n")
            .await;
        wire.say(b"transfer-encoding: chunked\r\n\r\n10001\r\n").await;
        wire.say(&large).await;
        wire.say(b"\r\n0\r\n\r\n").await;
        wire.hear().await.assert_problem(413, "body_too_large");
    }
}

#[tokio::test]
async fn over_the_rate_is_429_with_a_wait() {
    let more = "[sources.slow]\nprovider = \"stripe\"\nsecrets = [\"env:SECRET\"]\nrate_limit = \"1/h\"\n";
    let site = Site::start(more).await;
    let headers = stripe_headers(BODY);
    assert_eq!(site.post("/in/slow", &headers, BODY).await.status, 200);
    for _ in 0..2 {
        let reply = site.post("/in/slow", &headers, BODY).await;
        reply.assert_problem(429, "rate_limited");
        let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=3600).contains(&wait));
    }
}

#[tokio::test]
async fn more_bytes_in_flight_than_there_is_room_for_is_503_with_a_wait() {
    let limits = ingest::Limits {
        proven_bytes_max: 10,
        ..ingest::Limits::default()
    };
    let site = Site::tuned(
        "",
        Tuning {
            ingest: limits,
            ..Tuning::default()
        },
    )
    .await;
    for _ in 0..2 {
        let reply = site.stripe("evt_1").await;
        reply.assert_problem(503, "overloaded");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
}

#[tokio::test]
async fn an_engine_that_stops_answers_503_and_never_2xx() {
    let site = Site::start("").await;
    site.server.engine().shutdown(std::time::Duration::ZERO).await;
    for _ in 0..2 {
        let reply = site.stripe("evt_1").await;
        reply.assert_problem(503, "shutting_down");
        assert!(reply.header("retry-after").is_some());
    }
}

#[tokio::test]
async fn what_was_answered_is_counted() {
    let site = Site::start("").await;
    site.stripe("evt_1").await;
    site.stripe("evt_1").await;
    site.post("/in/stripe", &[], BODY).await;
    site.post("/in/nobody", &[], BODY).await;
    let mut wire = Wire::open(site.server.admin_address()).await;
    let reply = wire.ask("GET", "/metrics", &[], b"").await;
    for line in [
        "hapax_received_total{source=\"stripe\",result=\"accepted\"} 1",
        "hapax_received_total{source=\"stripe\",result=\"duplicate\"} 1",
        "hapax_received_total{source=\"stripe\",result=\"rejected\"} 1",
        "hapax_rejected_total{source=\"stripe\",reason=\"signature_missing\"} 1",
        "hapax_rejected_total{source=\"(unknown)\",reason=\"unknown_source\"} 1",
        "hapax_ack_seconds_count{source=\"stripe\"} 2",
        "hapax_dedupe_ratio{source=\"stripe\"} 0.5",
        "hapax_ledger_entries{source=\"stripe\"} 1",
    ] {
        assert!(
            reply.text().lines().any(|found| found == line),
            "{line} in\n{}",
            reply.text()
        );
    }
}

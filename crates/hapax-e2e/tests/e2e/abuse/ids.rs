//! Ids that are empty, long, not text, or contain characters that other programs stumble over.

use std::time::Duration;

use serde_json::json;

use hapax_testkit::{Sender, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn an_id_that_is_empty_or_no_text_is_400() {
    let service = Setup::new()
        .source("stripe", "stripe", "")
        .source("github", "github", "")
        .start()
        .await;
    let (stripe, github) = (Sender::of("stripe"), Sender::of("github"));
    let with_id = |id: &str| stripe.with_body("", format!(r#"{{"id":{id}}}"#));
    let header = |id: &[u8]| github.event("x").with_other_header("x-github-delivery", id);
    let refused = [
        with_id(r#""""#),
        with_id(r#""a\u0000b""#),
        with_id("null"),
        with_id("{}"),
        with_id("[1]"),
        header(b""),
        header(b"\xff\xfe"),
        header(b"caf\xe9"),
    ];
    for delivery in refused {
        for _ in 0..2 {
            let answer = service.deliver(&delivery).await;
            answer.assert_problem(400, "event_id_missing");
        }
    }
}

#[tokio::test]
async fn a_body_with_a_raw_nul_or_broken_utf8_around_its_id_is_400_and_never_a_crash() {
    let service = Setup::new().source("stripe", "stripe", "").start().await;
    let stripe = Sender::of("stripe");
    for body in [
        &b"{\"id\":\"a\0b\"}"[..],
        b"{\"id\":\"\xff\"}",
        b"{\"id\":\"\\ud800\"}",
    ] {
        let answer = service.deliver(&stripe.with_body("", body)).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
    service.deliver_twice(&stripe.event("evt_1")).await;
}

#[tokio::test]
async fn an_id_of_300_bytes_is_replaced_by_its_hash_visibly_and_still_counts_once() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let (long, other) = ("a".repeat(300), format!("{}b", "a".repeat(299)));
    for id in [&long, &other] {
        let delivery = sender.event(id);
        let first = service.deliver(&delivery).await;
        first.assert_durable("accepted");
        assert!(first.field("event_id").starts_with("sha256:"), "{}", first.text());
        service.deliver(&delivery).await.assert_durable("duplicate");
    }
    let longest = sender.event(&"c".repeat(255));
    assert_eq!(service.deliver(&longest).await.field("event_id"), "c".repeat(255));
    sink.until_effects(3, LIMIT).await;
    assert_eq!(sink.applications(), 3);
}

#[tokio::test]
async fn ids_with_odd_characters_are_one_event_each_and_travel_in_headers() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let ids = [
        "a:b",
        "a%3Ab",
        "a\nb",
        "a\r\nx-injected: yes",
        " a ",
        "日本語",
        "../../etc/passwd",
        "'; drop table events; --",
        "a/b?c#d",
        "💥",
    ];
    for id in ids {
        service
            .deliver_twice(&sender.stripe_event(id, "odd", &json!({})))
            .await;
    }
    sink.until_effects(ids.len(), LIMIT).await;
    assert_eq!(sink.applications(), ids.len());
    assert!(
        sink.received()
            .iter()
            .all(|one| one.header("x-injected").is_none() && !one.key.is_empty())
    );
    assert_eq!(
        sink.events_applied().len(),
        ids.len(),
        "{:?}",
        sink.events_applied()
    );
}

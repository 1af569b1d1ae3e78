//! A body of 24 MB, which GitHub may send once and never again: stored, delivered byte for byte, and recognised when it
//! is delivered again, on every store.

use std::time::Duration;

use bytes::Bytes;
use hapax_test_redis::fresh_prefix;

use hapax_testkit::{Delivery, Sender, Service, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(60);
const LARGE_BYTES: usize = 24_000_000;

fn push(sender: &Sender, id: &str, bytes: usize) -> Delivery {
    let commit = r#"{"id":"6dcb09b5b57875f334f61aebed695e2e4193db5e","message":"Fix all the bugs"},"#;
    let commits = commit.repeat(bytes / commit.len());
    let body = format!(
        r#"{{"action":"large","commits":[{}]}}"#,
        commits.trim_end_matches(',')
    );
    sender.with_body(id, body)
}

async fn github_to(sink: &Sink, database: Option<&str>) -> Service {
    let setup = Setup::new()
        .source("github", "github", "deliver_to = [\"app\"]")
        .http("app", &sink.url(), "");
    match database {
        Some(url) => setup.database(url).start().await,
        None => setup.start().await,
    }
}

/// Sends the event twice, alongside small ones: a large body does not delay small ones.
async fn assert_taken_once(service: &Service, sink: &Sink) {
    let sender = Sender::of("github");
    let large = push(&sender, "large-1", LARGE_BYTES);
    assert!(large.body.len() > LARGE_BYTES - 200);
    let id = service.deliver_twice(&large).await;
    service.deliver_twice(&sender.event("small-1")).await;
    sink.until_effects(2, LIMIT).await;
    assert_eq!(sink.applications(), 2, "each took effect once");
    let received = sink.received_for("large-1");
    assert!(
        received[0].body == large.body,
        "the bytes are not those that came"
    );
    let payload = service.admin(&format!("/api/v1/events/{id}/payload")).await;
    assert!(payload.body == large.body, "the payload is not what came");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_github_delivery_of_24_mb_takes_effect_once_on_sqlite() {
    let sink = Sink::start().await;
    assert_taken_once(&github_to(&sink, None).await, &sink).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_github_delivery_of_24_mb_takes_effect_once_on_postgres() {
    let server = hapax_test_postgres::Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let sink = Sink::start().await;
    assert_taken_once(&github_to(&sink, Some(&database.url())).await, &sink).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_github_delivery_of_24_mb_takes_effect_once_on_redis() {
    let url = hapax_test_redis::Server::shared()
        .unwrap()
        .url_with_prefix(&fresh_prefix());
    let sink = Sink::start().await;
    assert_taken_once(&github_to(&sink, Some(&url)).await, &sink).await;
}

#[tokio::test]
async fn each_source_has_its_own_limit() {
    let sink = Sink::start().await;
    let service = Setup::new()
        .server("body_limit = \"16KiB\"")
        .source("stripe", "stripe", "deliver_to = [\"app\"]")
        .source("small", "github", "body_limit = \"1KiB\"")
        .source("github", "github", "deliver_to = [\"app\"]")
        .http("app", &sink.url(), "")
        .start()
        .await;
    let padded = |sender: &Sender, id: &str, bytes: usize| {
        sender.with_body(id, format!(r#"{{"id":"{id}","pad":"{}"}}"#, "x".repeat(bytes)))
    };
    for (sender, bytes) in [
        (Sender::of("stripe"), 16 << 10),
        (Sender::to_source("github", "small"), 1 << 10),
        (Sender::of("github"), 32 << 20),
    ] {
        let refused = padded(&sender, "evt_1", bytes);
        for _ in 0..2 {
            let detail = service
                .deliver(&refused)
                .await
                .assert_problem(413, "body_too_large");
            assert!(detail.contains("raise the source's `body_limit`"), "{detail}");
        }
        service
            .deliver_twice(&padded(&sender, "evt_1", bytes - 100))
            .await;
    }
    let shown = service.hapax(&["config", "show", "--json"]).await.json();
    assert_eq!(shown["sources"]["github"]["body_limit"], "32MiB", "{shown}");
    assert_eq!(shown["sources"]["small"]["body_limit"], "1KiB", "{shown}");
    assert_eq!(shown["sources"]["stripe"]["body_limit"], "16KiB", "{shown}");
}

#[tokio::test]
async fn a_mark_before_json_hides_no_id_and_is_delivered() {
    let sink = Sink::start().await;
    let service = Setup::new()
        .source(
            "stripe",
            "stripe",
            "deliver_to = [\"app\"]\nindexed = [\"/data/object/id\"]",
        )
        .http("app", &sink.url(), "order_by = \"body:/data/object/id\"")
        .start()
        .await;
    let body = "\u{feff}{\"id\":\"evt_1\",\"type\":\"invoice.paid\",\"data\":{\"object\":{\"id\":\"in_1\"}}}";
    let delivery = Sender::of("stripe").with_body("evt_1", body);
    service.deliver_twice(&delivery).await;
    sink.until_effects(1, LIMIT).await;
    assert_eq!(
        sink.received_for("evt_1")[0].body,
        Bytes::from_static(body.as_bytes())
    );
    let found = service.api("events?q=body%3A%2Fdata%2Fobject%2Fid%3Din_1").await;
    assert_eq!(found["events"].as_array().map(Vec::len), Some(1), "{found}");
}

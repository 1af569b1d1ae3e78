//! `on_conflict = "accept"`: bodies that share an id are separate events, on every store.

use std::collections::BTreeSet;

use hapax_test_redis::fresh_prefix;
use serde_json::json;

use super::EFFECT_LIMIT;
use hapax_testkit::{Delivery, Repeated, Sender, Service, Setup, Sink, deliver_all};

/// Different bodies under the same id.
const CONTENTS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_of_contents_that_share_an_id_take_effect_once_each_on_sqlite() {
    once_each(|setup| setup, "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_of_contents_that_share_an_id_take_effect_once_each_on_postgres() {
    let server = hapax_test_postgres::Server::shared().unwrap();
    let database = server.database().await.unwrap();
    once_each(|setup| setup.database(&database.url()), "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_of_contents_that_share_an_id_take_effect_once_each_on_redis() {
    let server = hapax_test_redis::Server::shared().unwrap();
    let url = server.url_with_prefix(&fresh_prefix());
    once_each(|setup| setup.database(&url), "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contents_that_share_an_id_are_answered_after_their_work_where_the_source_says_so() {
    once_each(|setup| setup, "ack = \"processed\"\nack_timeout = \"10s\"\n").await;
}

async fn once_each(store: impl FnOnce(Setup) -> Setup, more: &str) {
    let sink = Sink::start().await;
    let lines = format!("deliver_to = [\"app\"]\non_conflict = \"accept\"\n{more}");
    let setup = Setup::new()
        .source("stripe", "stripe", &lines)
        .http("app", &sink.url(), "");
    let mut service = store(setup).start().await;
    let sender = Sender::of("stripe");
    let content = |number| {
        let body = json!({"id": "evt_1", "object": "event", "type": "a", "number": number});
        sender.with_body("evt_1", body.to_string())
    };
    let deliveries: Vec<Delivery> = (0..CONTENTS).map(content).collect();
    let ids = send_all(&service, &deliveries, CONTENTS).await;
    assert_eq!(ids.iter().filter(|id| *id == "evt_1").count(), 1, "{ids:?}");
    assert_eq!(
        ids.iter().filter(|id| id.starts_with("evt_1%conflict:")).count(),
        CONTENTS - 1
    );
    sink.until_effects(CONTENTS, EFFECT_LIMIT).await;
    assert_eq!((sink.effects().len(), sink.applications()), (CONTENTS, CONTENTS));
    sink.assert_one_key_for_each_event();
    assert_eq!(sink.events_applied(), ids, "destinations see the id of each");
    assert_seen(&service).await;

    service.restart().await;
    assert_eq!(send_all(&service, &deliveries, 0).await, ids);
    assert_eq!(sink.applications(), CONTENTS);
}

/// Sends each many times at once; this many of all these requests are new. Returns the ids of all events.
async fn send_all(service: &Service, deliveries: &[Delivery], new: usize) -> BTreeSet<String> {
    let copies = Repeated {
        deliveries: deliveries.to_vec(),
        each: 10,
        connections: 20,
    };
    let answers = deliver_all(service.address(), copies).await;
    let answers: Vec<_> = answers.into_values().flatten().collect();
    let count = |status: &str| {
        answers
            .iter()
            .filter(|answer| answer.field("status") == status)
            .count()
    };
    let duplicates = 10 * deliveries.len() - new;
    assert_eq!(
        (count("accepted"), count("duplicate"), count("conflict")),
        (new, duplicates, 0)
    );
    answers.iter().map(|answer| answer.field("event_id")).collect()
}

/// An event that was accepted despite its id is marked as such wherever it is shown.
async fn assert_seen(service: &Service) {
    let events = service.api("events?limit=10").await;
    let events = events["events"].as_array().unwrap();
    let conflicts: Vec<_> = events
        .iter()
        .filter(|event| event["id_origin"] == "conflict")
        .collect();
    assert_eq!((events.len(), conflicts.len()), (CONTENTS, CONTENTS - 1));
    let shown = service
        .hapax(&["events", "show", conflicts[0]["id"].as_str().unwrap()])
        .await;
    assert!(
        shown.stdout.contains("used this id for a different body before"),
        "{}",
        shown.stdout
    );
    let metrics = service.admin("/metrics").await.text();
    let line = format!(
        "hapax_conflicts_accepted_total{{source=\"stripe\"}} {}",
        CONTENTS - 1
    );
    assert!(metrics.contains(&line), "{metrics}");
    assert!(metrics.contains("hapax_received_total{source=\"stripe\",result=\"conflict\"} 0"));
}

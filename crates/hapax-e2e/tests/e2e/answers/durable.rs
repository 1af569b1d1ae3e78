//! 2xx: new, duplicate, same id with another body.

use serde_json::json;

use hapax_testkit::{Sender, Setup, Sink};

#[tokio::test]
async fn a_new_event_is_accepted_and_its_copy_is_a_duplicate_of_it() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_1");

    let first = service.deliver(&delivery).await;
    assert_eq!(
        (first.status, first.header("content-type")),
        (200, Some("application/json"))
    );
    let id = first.field("id");
    assert_eq!(
        first.json(),
        json!({"status": "accepted", "id": id, "event_id": "evt_1"})
    );
    assert_eq!(id.as_bytes()[14], b'7', "{id} is a UUID of version 7");

    let second = service.deliver(&delivery).await;
    assert_eq!(
        (second.status, second.header("content-type")),
        (200, Some("application/json"))
    );
    let first_seen = second.field("first_seen");
    assert_eq!(
        second.json(),
        json!({"status": "duplicate", "id": id, "event_id": "evt_1", "first_seen": first_seen})
    );
    assert!(
        first_seen.starts_with("20") && first_seen.contains('T') && first_seen.ends_with('Z'),
        "{first_seen}"
    );
}

#[tokio::test]
async fn the_same_id_with_another_body_is_a_conflict_and_only_the_first_takes_effect() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let first = sender.stripe_event("evt_1", "invoice.paid", &json!({"amount": 1}));
    let other = sender.stripe_event("evt_1", "invoice.paid", &json!({"amount": 1000}));
    let id = service.deliver_twice(&first).await;

    for _ in 0..2 {
        let answer = service.deliver(&other).await;
        assert_eq!(answer.status, 200);
        assert_eq!(
            answer.json(),
            json!({"status": "conflict", "id": id, "event_id": "evt_1"})
        );
    }
    service.deliver(&first).await.assert_durable("duplicate");

    let event = service
        .until_event_is(&id, "completed", std::time::Duration::from_secs(10))
        .await;
    assert_eq!(event["conflicts"].as_array().map(Vec::len), Some(1), "{event}");
    assert_eq!(event["conflicts"][0]["seen"], 2, "{event}");
    assert_eq!(
        sink.received()
            .iter()
            .map(|one| one.body.clone())
            .collect::<Vec<_>>(),
        [first.body]
    );
}

#[tokio::test]
async fn a_source_that_asks_for_202_gets_it_for_new_events_only() {
    let service = Setup::new()
        .source("stripe", "stripe", "ack_status = 202")
        .start()
        .await;
    let delivery = Sender::of("stripe").event("evt_1");
    let (first, second) = (service.deliver(&delivery).await, service.deliver(&delivery).await);
    first.assert_durable("accepted");
    second.assert_durable("duplicate");
    assert_eq!((first.status, second.status), (202, 200));
}

#[tokio::test]
async fn either_of_two_secrets_verifies_while_they_are_rotated() {
    let setup = Setup::new().table(
        "[sources.stripe]\nprovider = \"stripe\"\nsecrets = [\"whsec_new_one\", \"whsec_old_one\"]\ndeliver_to = []",
    );
    let service = setup.start().await;
    let by_new = Sender::with_secret("stripe", "stripe", "whsec_new_one").event("evt_1");
    let by_old = Sender::with_secret("stripe", "stripe", "whsec_old_one").event("evt_1");
    service.deliver(&by_new).await.assert_durable("accepted");
    service.deliver(&by_old).await.assert_durable("duplicate");
}

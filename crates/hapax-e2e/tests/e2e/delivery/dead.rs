//! Dead letters: dead at once or after the last attempt, listed, and brought back by a replay.

use std::time::Duration;

use hapax_testkit::{Reply, Sender, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn gone_and_do_not_retry_are_dead_at_once_and_a_replay_brings_them_back_with_the_same_key() {
    for reply in [
        || Reply::Status(410),
        || Reply::with(500, &[("hapax-retry", "no")]),
    ] {
        let sink = Sink::that(move |_| reply()).await;
        let service = Setup::stripe_to(&sink).start().await;
        let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
        service.until_event_is(&id, "dead", LIMIT).await;
        assert_eq!(sink.received().len(), 1);

        let listed = service.hapax(&["dead", "list", "--json"]).await.json();
        let dead = listed["deliveries"].as_array().unwrap();
        assert_eq!(dead.len(), 1, "{listed}");
        assert_eq!(
            (&dead[0]["event"], &dead[0]["destination"]),
            (&id.clone().into(), &"app".into()),
            "{listed}"
        );
        assert!(dead[0]["error"].is_string(), "it says why: {listed}");

        sink.behave(|_| Reply::Status(200));
        service.hapax(&["replay", &id]).await.assert_code(0);
        service.until_event_is(&id, "completed", LIMIT).await;
        sink.assert_one_key_for_each_event();
        let listed = service.hapax(&["dead", "list", "--json"]).await.json();
        assert_eq!(listed["deliveries"].as_array().map(Vec::len), Some(0), "{listed}");
        // A duplicate after all that is still a duplicate.
        service
            .deliver(&Sender::of("stripe").event("evt_1"))
            .await
            .assert_durable("duplicate");
    }
}

#[tokio::test]
async fn after_its_last_attempt_a_delivery_is_dead_and_never_tried_again_by_itself() {
    let sink = Sink::that(|_| Reply::Status(500)).await;
    let mut service = Setup::stripe_to_with(&sink, "max_attempts = 3").start().await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    service.until_event_is(&id, "dead", LIMIT).await;
    assert_eq!(sink.received().len(), 3);
    service.restart().await;
    service.until_event_is(&id, "dead", LIMIT).await;
    assert_eq!(sink.received().len(), 3);
}

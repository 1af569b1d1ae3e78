//! Duplicates: however many arrive, and however many at once, there is one event and one effect.

mod conflicts;

use std::time::Duration;

use hapax_testkit::{Repeated, Sender, Setup, Sink, deliver_all};

const EFFECT_LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_2000_deliveries_of_100_events_on_50_connections_100_are_accepted_and_take_effect() {
    let sink = Sink::start().await;
    let service = Setup::stripe_to(&sink).start().await;
    let sender = Sender::of("stripe");
    let deliveries = (0..100)
        .map(|number| sender.event(&format!("evt_{number}")))
        .collect();

    let answers = deliver_all(
        service.address(),
        Repeated {
            deliveries,
            each: 20,
            connections: 50,
        },
    )
    .await;

    let count = |status: &str| {
        answers
            .values()
            .flatten()
            .filter(|answer| answer.field("status") == status)
            .count()
    };
    assert_eq!(
        (count("accepted"), count("duplicate"), count("conflict")),
        (100, 1900, 0)
    );
    for (event_id, answers) in &answers {
        let id = answers[0].field("id");
        for answer in answers {
            assert_eq!(
                (answer.status, answer.field("id"), answer.field("event_id")),
                (200, id.clone(), event_id.clone())
            );
        }
    }
    sink.until_effects(100, EFFECT_LIMIT).await;
    assert_eq!((sink.effects().len(), sink.applications()), (100, 100));
    sink.assert_one_key_for_each_event();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicates_for_every_preset_are_told_from_new_events() {
    let sink = Sink::start().await;
    let mut setup = Setup::new().http("app", &sink.url(), "");
    for provider in ["stripe", "github", "standard-webhooks"] {
        setup = setup.source(provider, provider, "deliver_to = [\"app\"]");
    }
    let service = setup.start().await;
    for provider in ["stripe", "github", "standard-webhooks"] {
        let sender = Sender::of(provider);
        // The same id at two sources is two events: each source is its own scope.
        service.deliver_twice(&sender.event("same-id")).await;
        service.deliver_twice(&sender.event("other-id")).await;
    }
    sink.until_effects(6, EFFECT_LIMIT).await;
    assert_eq!(sink.applications(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_after_a_restart_is_still_a_copy() {
    let sink = Sink::start().await;
    let mut service = Setup::stripe_to(&sink).start().await;
    let delivery = Sender::of("stripe").event("evt_1");
    let id = service.deliver_twice(&delivery).await;
    sink.until_effects(1, EFFECT_LIMIT).await;
    service.restart().await;
    let answer = service.deliver(&delivery).await;
    answer.assert_durable("duplicate");
    assert_eq!(answer.field("id"), id);
    assert_eq!(sink.applications(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_that_share_a_scope_share_their_ids() {
    let sink = Sink::start().await;
    let lines = "deliver_to = [\"app\"]\nscope = \"shared\"";
    let setup = Setup::new()
        .source("one", "stripe", lines)
        .source("two", "stripe", lines)
        .http("app", &sink.url(), "");
    let service = setup.start().await;
    let first = service
        .deliver(&Sender::to_source("stripe", "one").event("evt_1"))
        .await;
    let second = service
        .deliver(&Sender::to_source("stripe", "two").event("evt_1"))
        .await;
    first.assert_durable("accepted");
    second.assert_durable("duplicate");
    assert_eq!(first.field("id"), second.field("id"));
    sink.until_effects(1, EFFECT_LIMIT).await;
    assert_eq!(sink.applications(), 1);
}

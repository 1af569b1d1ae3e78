//! Order: one at a time, in order of acceptance, per key; a failing head blocks only its own key.

use std::time::Duration;

use serde_json::json;

use hapax_testkit::{Delivery, Reply, Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(30);
const ORDERED: &str = "order_by = \"body:/data/object/id\"\nmax_attempts = 5";

fn event(key: &str, number: usize) -> Delivery {
    Sender::of("stripe").stripe_event(&format!("{key}-{number}"), "changed", &json!({"id": key}))
}

#[tokio::test]
async fn each_key_keeps_its_order_under_failures_while_other_keys_flow() {
    // Every third event of the key `shaky` fails twice before it succeeds.
    let sink = Sink::that(|request| {
        let number: usize = request.event_id.rsplit('-').next().unwrap().parse().unwrap();
        let fails = request.event_id.starts_with("shaky") && number.is_multiple_of(3) && request.nth < 3;
        Reply::Status(if fails { 500 } else { 200 })
    })
    .await;
    let service = Setup::stripe_to_with(&sink, ORDERED).start().await;
    let keys = ["shaky", "steady", "calm"];
    for number in 0..12 {
        for key in keys {
            service.deliver_twice(&event(key, number)).await;
        }
    }
    sink.until_effects(36, LIMIT).await;
    assert_eq!(sink.applications(), 36);
    for key in keys {
        let wanted: Vec<String> = (0..12).map(|number| format!("{key}-{number}")).collect();
        let applied: Vec<String> = sink
            .order_applied()
            .into_iter()
            .filter(|id| id.starts_with(key))
            .collect();
        assert_eq!(applied, wanted);
    }
}

#[tokio::test]
async fn a_dead_head_holds_its_key_until_it_is_discarded_and_no_other() {
    let sink =
        Sink::that(|request| Reply::Status(if request.event_id == "stuck-0" { 410 } else { 200 })).await;
    let service = Setup::stripe_to_with(&sink, ORDERED).start().await;
    let head = service.deliver_twice(&event("stuck", 0)).await;
    service.until_event_is(&head, "dead", LIMIT).await;
    for number in 1..4 {
        service.deliver_twice(&event("stuck", number)).await;
        service.deliver_twice(&event("free", number)).await;
    }
    sink.until("the other key flows", LIMIT, |sink| {
        sink.order_applied().len() >= 3
    })
    .await;
    assert_eq!(sink.order_applied(), ["free-1", "free-2", "free-3"]);

    service.hapax(&["dead", "discard", &head]).await.assert_code(0);
    sink.until_effects(6, LIMIT).await;
    assert_eq!(sink.order_applied()[3..], ["stuck-1", "stuck-2", "stuck-3"]);
}

#[tokio::test]
async fn where_the_configuration_says_so_a_dead_head_is_skipped() {
    let sink = Sink::that(|request| Reply::Status(if request.event_id == "key-0" { 410 } else { 200 })).await;
    let service = Setup::stripe_to_with(&sink, &format!("{ORDERED}\non_dead = \"skip\""))
        .start()
        .await;
    for number in 0..4 {
        service.deliver_twice(&event("key", number)).await;
    }
    sink.until_effects(3, LIMIT).await;
    assert_eq!(sink.order_applied(), ["key-1", "key-2", "key-3"]);
}

#[tokio::test]
async fn order_survives_a_kill() {
    let sink = Sink::that_first(|| Reply::Status(500)).await;
    let mut service = Setup::stripe_to_with(&sink, &format!("{ORDERED}\nlease = \"2s\"\ntimeout = \"1s\""))
        .start()
        .await;
    for number in 0..10 {
        service.deliver_twice(&event("key", number)).await;
    }
    service.kill().await;
    service.start_again().await;
    sink.until_effects(10, LIMIT).await;
    let mut first_times = Vec::new();
    for id in sink.order_applied() {
        if !first_times.contains(&id) {
            first_times.push(id);
        }
    }
    let wanted: Vec<String> = (0..10).map(|number| format!("key-{number}")).collect();
    assert_eq!(first_times, wanted);
    eventually("nothing is left", LIMIT, async || {
        let stats = service.api("stats").await;
        (stats["destinations"][0]["pending"] == 0 && stats["destinations"][0]["running"] == 0).then_some(())
    })
    .await;
}

//! Pause and resume: events are still accepted, and wait.

use std::time::Duration;

use hapax_testkit::{Sender, Setup, Sink, eventually};

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_paused_destination_gets_nothing_until_it_is_resumed_and_others_go_on() {
    let (paused, open) = (Sink::start().await, Sink::start().await);
    let mut service = Setup::new()
        .source("stripe", "stripe", "deliver_to = [\"paused\", \"open\"]")
        .http("paused", &paused.url(), "")
        .http("open", &open.url(), "")
        .start()
        .await;
    service
        .hapax(&["pause", "paused", "--reason", "maintenance"])
        .await
        .assert_code(0);
    let sender = Sender::of("stripe");
    for number in 0..5 {
        service
            .deliver_twice(&sender.event(&format!("evt_{number}")))
            .await;
    }
    open.until_effects(5, LIMIT).await;
    let held = service.api("stats").await["destinations"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["destination"] == "paused").cloned())
        .unwrap();
    assert_eq!(held["held"], 5, "{held}");
    assert_eq!(held["paused"]["why"], "maintenance", "{held}");

    // A pause survives a restart.
    service.restart().await;
    service.deliver_twice(&sender.event("evt_after")).await;
    open.until_effects(6, LIMIT).await;
    assert!(paused.received().is_empty());

    service.hapax(&["resume", "paused"]).await.assert_code(0);
    paused.until_effects(6, LIMIT).await;
    assert_eq!(paused.applications(), 6);
    eventually("nothing is held any more", LIMIT, async || {
        let stats = service.api("stats").await;
        let all = stats["destinations"].as_array()?.clone();
        all.iter()
            .all(|one| one["held"] == 0 && one["pending"] == 0)
            .then_some(())
    })
    .await;
}

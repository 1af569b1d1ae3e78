//! Leases: renewed while a handler works, taken over when its worker is gone.

use std::time::Duration;

use hapax_testkit::{Gate, Reply, Sender, Setup, Sink};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_handler_that_works_longer_than_its_lease_keeps_it_and_takes_effect_once() {
    let sink = Sink::that(|_| Reply::Slow(Duration::from_secs(3), 200)).await;
    let service = Setup::stripe_to_with(&sink, "lease = \"5s\"\ntimeout = \"4900ms\"")
        .start()
        .await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    let event = service.until_event_is(&id, "completed", LIMIT).await;
    assert_eq!((sink.received().len(), sink.applications()), (1, 1));
    assert_eq!(event["deliveries"][0]["lost"], 0, "{event}");
}

#[tokio::test]
async fn a_delivery_whose_worker_was_killed_is_taken_over_with_the_same_key() {
    let gate = Gate::closed();
    let behind = gate.clone();
    let sink = Sink::that_first(move || Reply::Behind(behind.clone(), 200)).await;
    let mut service = Setup::stripe_to_with(&sink, "lease = \"2s\"\ntimeout = \"1s\"")
        .start()
        .await;
    let id = service.deliver_twice(&Sender::of("stripe").event("evt_1")).await;
    sink.until_received(1, LIMIT).await;
    service.kill().await;
    service.start_again().await;
    let event = service.until_event_is(&id, "completed", LIMIT).await;
    assert_eq!(sink.received().len(), 2);
    sink.assert_one_key_for_each_event();
    assert_eq!(sink.effects().len(), 1);
    assert!(event["deliveries"][0]["lost"].as_u64() <= Some(1), "{event}");
    gate.open();
}

#[tokio::test]
async fn a_delivery_that_takes_its_worker_down_three_times_is_dead_and_its_neighbours_are_not() {
    let sink = Sink::that(|request| {
        if request.event_id == "evt_poison" {
            Reply::Hang
        } else {
            Reply::Status(200)
        }
    })
    .await;
    let mut service =
        Setup::stripe_to_with(&sink, "lease = \"2s\"\ntimeout = \"1900ms\"\nmax_attempts = 100")
            .start()
            .await;
    let sender = Sender::of("stripe");
    let poison = service.deliver_twice(&sender.event("evt_poison")).await;
    for round in 1..=3 {
        service
            .deliver_twice(&sender.event(&format!("evt_{round}")))
            .await;
        sink.until("the poison runs again", LIMIT, |sink| {
            sink.received_for("evt_poison").len() >= round
        })
        .await;
        // As if the payload itself had caused it.
        service.kill().await;
        service.start_again().await;
    }
    let event = service.until_event_is(&poison, "dead", LIMIT).await;
    assert_eq!(event["deliveries"][0]["lost"], 3, "{event}");
    assert!(event["deliveries"][0]["error"].is_string(), "{event}");
    assert_eq!(sink.received_for("evt_poison").len(), 3);
    sink.assert_one_key_for_each_event();
    let neighbours = ["evt_1", "evt_2", "evt_3"].map(str::to_owned);
    sink.until("its neighbours took effect", LIMIT, |sink| {
        neighbours.iter().all(|id| sink.events_applied().contains(id))
    })
    .await;
}

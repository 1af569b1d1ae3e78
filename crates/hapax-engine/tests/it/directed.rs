//! Events for one destination: what an outbox's rows become.

use hapax_core::EventStatus;
use hapax_engine::{Answer, Engine, Parcel, Pattern, Refusal};

use crate::harness::{SECOND, World};

async fn accept(
    engine: &Engine,
    world: &World,
    event_id: &str,
    order_key: Option<&str>,
) -> hapax_core::EventId {
    let parcel = || Parcel {
        arrival: world.arrival(event_id, event_id),
        to: "billing".into(),
        order_key: order_key.map(str::to_owned),
    };
    let first = engine.accept_for(parcel()).await.unwrap();
    assert_eq!(first.status(), "accepted");
    let second = engine.accept_for(parcel()).await.unwrap();
    assert_eq!((second.status(), second.id()), ("duplicate", first.id()));
    first.id()
}

#[tokio::test(start_paused = true)]
async fn it_goes_there_whatever_types_the_destination_wants() {
    let mut world = World::new(|_, _| (SECOND, Answer::done(200)));
    world.destination(|destination| destination.events = vec![Pattern::new("never.*")]);
    let engine = world.start().await;
    let id = accept(&engine, &world, "a", None).await;
    world.until(id, EventStatus::Completed).await;
    assert_eq!(world.sink.ids(), ["a"]);
    let (_, routed) = world.send(&engine, "b").await;
    assert_eq!(world.record(routed).await.status, EventStatus::Ignored);
}

#[tokio::test(start_paused = true)]
async fn those_of_one_order_key_run_one_at_a_time_in_order_of_acceptance() {
    let mut world = World::new(|_, _| (SECOND, Answer::done(200)));
    world.destination(|destination| destination.concurrency = 8);
    let engine = world.start().await;
    for id in ["a1", "a2", "a3"] {
        accept(&engine, &world, id, Some("a")).await;
    }
    accept(&engine, &world, "b1", Some("b")).await;
    world.until_count(EventStatus::Completed, 4).await;
    let ids = world.sink.ids();
    let of_a: Vec<&String> = ids.iter().filter(|id| id.starts_with('a')).collect();
    assert_eq!(of_a, ["a1", "a2", "a3"]);
    assert!(
        ids.iter().position(|id| id == "b1") < ids.iter().position(|id| id == "a2"),
        "{ids:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_destination_that_is_not_there_is_refused_and_nothing_is_stored() {
    let world = World::new(|_, _| (SECOND, Answer::done(200)));
    let engine = world.start().await;
    let parcel = || Parcel {
        arrival: world.arrival("a", "a"),
        to: "nowhere".into(),
        order_key: None,
    };
    for _ in 0..2 {
        let refused = engine.accept_for(parcel()).await.unwrap_err();
        assert!(matches!(refused, Refusal::Rejected { .. }), "{refused}");
    }
    assert_eq!(world.send(&engine, "a").await.0, "accepted");
}

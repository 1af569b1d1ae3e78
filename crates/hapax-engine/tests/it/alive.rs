//! Liveness: deliveries that a dead replica held run elsewhere, long before its lease ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hapax_core::delivery::FirstLease;
use hapax_core::store::{AcceptRequest, AliveReport, Patience};
use hapax_core::{Clock, Identity, NewDelivery, Owner, SystemRandom};
use hapax_engine::AttemptResult;
use hapax_store_laws::MemoryStore;
use hapax_store_laws::bench::Draft;

use crate::harness::{SECOND, World};

/// A dead replica.
const GONE: Owner = Owner(99);

/// Stores an event as the other replica does, with an hour's lease and its last report.
async fn held_by_another(world: &World) {
    let ids = hapax_core::EventIds::default();
    let random = SystemRandom::new();
    let mut event = Draft::new(&ids, &random, Identity::new("shop", "evt_1")).build();
    let mut delivery = NewDelivery::to("billing");
    delivery.first_lease = Some(FirstLease {
        owner: GONE,
        lease_for: Duration::from_secs(3_600),
    });
    event.deliveries = vec![delivery];
    let request = AcceptRequest { events: vec![event] };
    // Delivered twice, as everything is; the duplicate changes nothing.
    for _ in 0..2 {
        world.store.accept(vec![request.clone()]).await.remove(0).unwrap();
    }
    let report = AliveReport {
        owner: GONE,
        shard: 0,
        patience: Patience::default(),
        limit: 0,
    };
    world.store.report_alive(report).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_replica_held_is_attempted_within_fifteen_seconds() {
    let world = World::new(|_, _| (Duration::ZERO, AttemptResult::done(200)));
    let engine = world.start().await;
    tokio::time::sleep(20 * SECOND).await;
    held_by_another(&world).await;
    tokio::time::sleep(12 * SECOND).await;
    assert_eq!(world.sink.ids(), [""; 0], "it may still be alive");
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(world.sink.ids(), ["evt_1"]);
    engine.shutdown(SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_has_just_started_waits_until_it_can_tell() {
    let world = World::new(|_, _| (Duration::ZERO, AttemptResult::done(200)));
    held_by_another(&world).await;
    tokio::time::sleep(60 * SECOND).await;
    let engine = world.start().await;
    tokio::time::sleep(14 * SECOND).await;
    assert_eq!(world.sink.ids(), [""; 0]);
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(world.sink.ids(), ["evt_1"]);
    engine.shutdown(SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_keeps_its_attempts_while_it_looks_up_what_it_took_over() {
    let mut world = World::new(|_, _| (50 * SECOND, AttemptResult::done(200)));
    world.destination(|billing| billing.deadline = 60 * SECOND);
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_looks(20 * SECOND));
    let engine = world.start().await;
    held_by_another(&world).await;
    tokio::time::sleep(10 * SECOND).await;
    for _ in 0..2 {
        engine.accept(vec![world.incoming("evt_2", "{}")]).await.unwrap();
    }
    tokio::time::sleep(40 * SECOND).await;
    assert_eq!(world.sink.ids(), ["evt_2", "evt_1"]);
    assert_eq!(
        world.sink.aborted.load(Ordering::SeqCst),
        0,
        "it reported all the time"
    );
    engine.shutdown(SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn attempts_that_last_longer_than_any_silence_are_left_alone() {
    let mut world = World::new(|_, _| (50 * SECOND, AttemptResult::done(200)));
    world.destination(|billing| billing.deadline = 60 * SECOND);
    let (one, other) = (world.start().await, world.start().await);
    for _ in 0..2 {
        one.accept(vec![world.incoming("evt_1", "{}")]).await.unwrap();
    }
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(world.sink.ids(), ["evt_1"]);
    one.shutdown(SECOND).await;
    other.shutdown(SECOND).await;
}

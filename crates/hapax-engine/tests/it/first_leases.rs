//! Deliveries that are leased with their accept: whenever a permit is free that no older delivery needs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use hapax_core::{Clock, EventStatus};
use hapax_engine::{AttemptResult, Engine, Rate};
use hapax_store_laws::MemoryStore;

use crate::harness::{SECOND, World};

const MILLISECOND: Duration = Duration::from_millis(1);
/// How long the store takes to lease. A delivery that starts sooner was leased with its accept.
const LEASE: Duration = Duration::from_millis(5);

/// A store that takes its time to lease, and a destination that answers after `each`.
fn world(each: Duration) -> World {
    let mut world = World::new(move |_, _| (each, AttemptResult::done(200)));
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_leases(LEASE));
    world
}

/// Sends an event and its duplicate. Returns when it was sent.
async fn send(world: &World, engine: &Engine, event_id: &str) -> Duration {
    let sent = world.clock_now();
    world.send_twice(engine, event_id).await;
    sent
}

/// How long after `sent` an event's first attempt began.
fn waited(world: &World, event_id: &str, sent: Duration) -> Duration {
    let seen = world.sink.seen();
    let first = seen.iter().find(|seen| seen.event_id == event_id).unwrap();
    first.at.saturating_sub(sent)
}

/// Sends events at this pace for five seconds. Returns how many, and how many of them were leased with their accept.
async fn steady_load(world: &World, engine: &Engine, every: Duration) -> (usize, usize) {
    let count = (5 * SECOND).as_millis() / every.as_millis();
    let load = (0..count as u32).map(|number| async move {
        tokio::time::sleep(every * number).await;
        let id = format!("evt_{number}");
        let sent = send(world, engine, &id).await;
        (id, sent)
    });
    let sent = join_all(load).await;
    tokio::time::sleep(SECOND).await;
    let at_once = sent.iter().filter(|(id, sent)| waited(world, id, *sent) < LEASE);
    (sent.len(), at_once.count())
}

#[tokio::test(start_paused = true)]
async fn under_a_steady_load_deliveries_are_leased_with_their_accept() {
    let world = world(2 * MILLISECOND);
    let engine = world.start().await;
    let (sent, at_once) = steady_load(&world, &engine, MILLISECOND).await;
    assert!(at_once >= sent * 95 / 100, "{at_once} of {sent}");
}

#[tokio::test(start_paused = true)]
async fn under_a_rate_limit_too() {
    let mut world = world(2 * MILLISECOND);
    let rate = Rate {
        count: 400,
        per: SECOND,
    };
    world.destination(|billing| billing.rate = Some(rate));
    let engine = world.start().await;
    let (sent, at_once) = steady_load(&world, &engine, 4 * MILLISECOND).await;
    assert!(at_once >= sent * 95 / 100, "{at_once} of {sent}");
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_an_older_delivery_needs_is_left_to_it() {
    let mut world = World::new(|delivery, _| {
        let long = if delivery.event.identity.event_id == "long" {
            20 * SECOND
        } else {
            SECOND
        };
        (long, AttemptResult::done(200))
    });
    world.destination(|billing| billing.concurrency = 2);
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    world.store = Arc::new(store.with_slow_leases(SECOND / 2));
    let engine = world.start().await;
    tokio::time::sleep(SECOND * 3 / 4).await;
    send(&world, &engine, "long").await;
    send(&world, &engine, "first").await;
    send(&world, &engine, "older").await;
    // The permit of `first` is free by now, and `older` is being leased with it.
    tokio::time::sleep(SECOND * 5 / 4).await;
    send(&world, &engine, "newer").await;
    world.until_count(EventStatus::Completed, 4).await;
    assert_eq!(world.sink.ids(), ["long", "first", "older", "newer"]);
}

#[tokio::test(start_paused = true)]
async fn the_rate_that_older_deliveries_need_is_left_to_them() {
    let mut world = world(MILLISECOND);
    let rate = Rate {
        count: 2,
        per: SECOND,
    };
    world.destination(|billing| billing.rate = Some(rate));
    let engine = world.start().await;
    tokio::time::sleep(SECOND / 2).await;
    let mut ids = Vec::new();
    for number in 0..20 {
        ids.push(format!("evt_{number:02}"));
        send(&world, &engine, &ids[number]).await;
        // Each time there is a new token, a new event comes first.
        tokio::time::sleep(SECOND / 4).await;
    }
    world.until_count(EventStatus::Completed, 20).await;
    assert_eq!(world.sink.ids(), ids);
}

#[tokio::test(start_paused = true)]
async fn what_another_replica_left_gets_a_permit_although_new_events_take_each_one() {
    let mut world = World::new(|_, _| (50 * MILLISECOND, AttemptResult::done(200)));
    world.destination(|billing| billing.concurrency = 1);
    let stays = world.start().await;
    tokio::time::sleep(10 * SECOND).await;
    let leaves = world.start().await;
    // The second one waits in the store when its replica leaves.
    send(&world, &leaves, "ran").await;
    let left = send(&world, &leaves, "left").await;
    leaves.shutdown(SECOND).await;
    for number in 0..1_000 {
        send(&world, &stays, &format!("new_{number}")).await;
        tokio::time::sleep(10 * MILLISECOND).await;
    }
    assert!(waited(&world, "left", left) < 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_a_duplicate_returns_serves_what_waits() {
    let mut world = world(MILLISECOND);
    world.destination(|billing| billing.concurrency = 1);
    world.limits.seen_for = Duration::ZERO;
    let store = MemoryStore::new(Arc::clone(&world.clock) as Arc<dyn Clock>);
    let store = store.with_slow_accepts(10 * MILLISECOND);
    world.store = Arc::new(store.with_slow_leases(LEASE));
    let engine = world.start().await;
    send(&world, &engine, "evt_1").await;
    tokio::time::sleep(SECOND / 2).await;
    // The duplicate, unknown to the cache, has the only permit while the new event is accepted with it.
    let sent = world.clock_now();
    let duplicate = world.send(&engine, "evt_1");
    let new = world.send(&engine, "evt_2");
    let ((known, _), (new, _)) = tokio::join!(duplicate, new);
    assert_eq!((known, new), ("duplicate", "accepted"));
    world.until_count(EventStatus::Completed, 2).await;
    assert!(waited(&world, "evt_2", sent) < 100 * MILLISECOND);
}

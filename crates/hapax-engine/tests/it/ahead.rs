//! Leasing ahead: a quick destination has more deliveries leased than run. Waiting ones are renewed like running ones,
//! and are released, unattempted, when they may not start.

use std::sync::atomic::Ordering;
use std::time::Duration;

use hapax_core::{Clock as _, EventId, EventStatus};
use hapax_engine::{AttemptResult, Engine, ShutdownReport};

use crate::harness::{SECOND, World, failed};

const QUICK: Duration = Duration::from_millis(5);

/// Lets the destination prove that it is quick.
async fn warm_up(world: &World, engine: &Engine) {
    let id = world.send_twice(engine, "quick").await;
    world.until(id, EventStatus::Completed).await;
}

async fn send_all(world: &World, engine: &Engine, name: &str, count: usize) -> Vec<EventId> {
    let mut ids = Vec::new();
    for number in 0..count {
        ids.push(world.send_twice(engine, &format!("{name}_{number}")).await);
    }
    ids
}

/// Events whose id begins with `slow` take long; the others are quick.
fn slow_ones_take(long: Duration) -> World {
    World::new(move |delivery, _| {
        let is_slow = delivery.event.identity.event_id.starts_with("slow");
        (if is_slow { long } else { QUICK }, AttemptResult::done(200))
    })
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_are_allowed_and_each_runs_once() {
    let world = World::new(|_, _| (QUICK, AttemptResult::done(200)));
    let engine = world.start().await;
    warm_up(&world, &engine).await;
    send_all(&world, &engine, "evt", 200).await;
    world.until_count(EventStatus::Completed, 201).await;
    assert_eq!(world.sink.running_max.load(Ordering::SeqCst), 8);
    assert_eq!(world.sink.seen().len(), 201);
}

#[tokio::test(start_paused = true)]
async fn what_waits_longer_than_its_lease_is_still_ours() {
    let mut world = slow_ones_take(25 * SECOND);
    world.destination(|billing| {
        billing.concurrency = 1;
        billing.lease = 10 * SECOND;
    });
    let engine = world.start().await;
    warm_up(&world, &engine).await;
    let ids = send_all(&world, &engine, "slow", 3).await;
    for id in ids {
        world.until(id, EventStatus::Completed).await;
        assert_eq!(world.record(id).await.deliveries[0].lost, 0);
    }
    assert_eq!(world.sink.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_pause_stops_what_waits_and_nothing_is_lost() {
    let mut world = slow_ones_take(10 * SECOND);
    world.destination(|billing| billing.concurrency = 1);
    let engine = world.start().await;
    warm_up(&world, &engine).await;
    let ids = send_all(&world, &engine, "slow", 3).await;
    engine.pause("billing".into(), "ann", "deploy").await.unwrap();
    world.until(ids[0], EventStatus::Completed).await;
    tokio::time::sleep(1_000 * SECOND).await;
    assert_eq!(world.sink.seen().len(), 2, "only the one that ran");
    assert!(engine.resume(&"billing".into(), "ann").await.unwrap());
    for id in ids {
        world.until(id, EventStatus::Completed).await;
        assert_eq!(world.record(id).await.deliveries[0].attempts, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_opens_stops_what_waits() {
    let world = World::new(|delivery, _| {
        let is_good = delivery.event.identity.event_id == "quick";
        (
            QUICK,
            if is_good {
                AttemptResult::done(200)
            } else {
                failed()
            },
        )
    });
    let engine = world.start().await;
    warm_up(&world, &engine).await;
    let opened_at = world.clock.elapsed();
    send_all(&world, &engine, "evt", 30).await;
    tokio::time::sleep(SECOND / 2).await;
    let at_once = world.sink.seen().len() - 1;
    // Ten failures open it; attempts in the other slots may have been in flight.
    assert!((10..=18).contains(&at_once), "{at_once} attempts");
    assert!(world.clock.elapsed().saturating_sub(opened_at) < SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_gives_back_what_waits_at_once() {
    let mut world = slow_ones_take(10 * SECOND);
    world.destination(|billing| billing.concurrency = 1);
    let engine = world.start().await;
    warm_up(&world, &engine).await;
    let ids = send_all(&world, &engine, "slow", 3).await;
    let report = engine.shutdown(60 * SECOND).await;
    assert_eq!(
        report,
        ShutdownReport {
            finished: 1,
            released: 2
        }
    );
    assert_eq!(world.sink.seen().len(), 2);
    let _engine = world.start().await;
    for id in ids {
        world.until(id, EventStatus::Completed).await;
        assert_eq!(world.record(id).await.deliveries[0].attempts, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_panics_costs_its_lease_and_not_its_slot() {
    let mut world = World::new(|delivery, call| {
        assert!(delivery.event.identity.event_id != "evt_1" || call > 1, "a bug");
        (QUICK, AttemptResult::done(200))
    });
    world.destination(|billing| billing.concurrency = 1);
    let engine = world.start().await;
    let first = world.send_twice(&engine, "evt_1").await;
    let second = world.send_twice(&engine, "evt_2").await;
    world.until(second, EventStatus::Completed).await;
    assert!(world.clock.elapsed() < 10 * SECOND);
    world.until(first, EventStatus::Completed).await;
    assert_eq!(world.record(first).await.deliveries[0].lost, 1);
}

//! Retention: expired rows are deleted; a clock that jumps deletes nothing.

use hapax_core::{Clock as _, EventStatus, Identity};
use hapax_engine::AttemptResult;

use crate::harness::{SECOND, World};

/// Months pass here, so the engine checks once an hour instead of every second.
fn patient(mut world: World) -> World {
    let hour = 3600 * SECOND;
    world.limits.poll_every = hour;
    world.limits.flush_every = hour;
    world.limits.rescue_every = hour;
    world.limits.report_every = hour;
    world.limits.silent_max = 10 * hour;
    world.limits.retain_every = hour;
    world
}

const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);
const MILLISECOND: std::time::Duration = std::time::Duration::from_millis(1);

#[tokio::test(start_paused = true)]
async fn payload_goes_before_ledger_and_a_copy_is_a_duplicate_until_then() {
    let world = patient(World::healthy());
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    tokio::time::sleep(15 * DAY).await;
    assert!(
        world.store.get(id).await.unwrap().is_none(),
        "the payload must be gone"
    );
    assert_eq!(world.send(&engine, "evt_1").await, ("duplicate", id));
    tokio::time::sleep(16 * DAY).await;
    assert!(
        world
            .store
            .look_up(&Identity::new("shop", "evt_1"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(world.send(&engine, "evt_1").await.0, "accepted");
}

#[tokio::test(start_paused = true)]
async fn what_has_expired_goes_ten_times_as_fast_as_events_come() {
    const EVENTS: u64 = 1_200;
    let world = patient(World::healthy());
    let engine = world.start().await;
    let mut last = None;
    for number in 0..EVENTS {
        last = Some(world.send_twice(&engine, &format!("evt_{number}")).await);
    }
    world.until(last.unwrap(), EventStatus::Completed).await;
    tokio::time::sleep(14 * DAY + 3_500 * SECOND).await;
    let events = async || world.store.counts().await.unwrap().events;
    while events().await == EVENTS {
        tokio::time::sleep(50 * MILLISECOND).await;
    }
    // From the first portion on, it does not pause.
    tokio::time::sleep(10 * MILLISECOND).await;
    assert_eq!(events().await, 0);
}

#[tokio::test(start_paused = true)]
async fn unfinished_work_never_expires() {
    let mut world = patient(World::new(|_, _| (SECOND, AttemptResult::done(200))));
    world.destination(|billing| billing.concurrency = 1);
    let engine = world.start().await;
    engine.pause("billing".into(), "ann", "").await.unwrap();
    let id = world.send_twice(&engine, "evt_1").await;
    tokio::time::sleep(100 * DAY).await;
    assert_eq!(world.send(&engine, "evt_1").await, ("duplicate", id));
    engine.resume(&"billing".into(), "ann").await.unwrap();
    world.until(id, EventStatus::Completed).await;
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_ahead_deletes_nothing() {
    let world = patient(World::healthy());
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    world.clock.step(365 * 86_400);
    tokio::time::sleep(DAY).await;
    assert!(world.store.get(id).await.unwrap().is_some());
    assert_eq!(world.send(&engine, "evt_1").await, ("duplicate", id));
    assert!(world.clock.elapsed() >= DAY);
}

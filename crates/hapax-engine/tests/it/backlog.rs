//! A backlog that this replica did not create: it is found by polling, then drained as fast as any other.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax_core::EventStatus;
use hapax_engine::{AttemptResult, Engine};

use crate::harness::{SECOND, World};

const SLOTS: u32 = 4;
const EACH: Duration = Duration::from_millis(50);
const EVENTS: usize = 80;

/// Two replicas; the first has accepted all events and is about to leave.
async fn two_replicas() -> (World, Engine, Engine) {
    let mut world = World::new(|_, _| (EACH, AttemptResult::done(200)));
    world.destination(|billing| billing.concurrency = SLOTS);
    let stays = world.start().await;
    // Past its first polls: it has found nothing in the store.
    tokio::time::sleep(10 * SECOND).await;
    let leaves = world.start().await;
    for number in 0..EVENTS {
        world.send_twice(&leaves, &format!("evt_{number:03}")).await;
    }
    (world, leaves, stays)
}

#[tokio::test(start_paused = true)]
async fn what_a_replica_left_is_drained_at_full_speed_oldest_first() {
    let (world, leaves, _stays) = two_replicas().await;
    leaves.shutdown(Duration::ZERO).await;
    let (left_at, tried) = (world.clock_now(), world.sink.ids());
    world.until_count(EventStatus::Completed, EVENTS).await;
    let took = world.clock_now().saturating_sub(left_at);
    let full_speed = EACH * EVENTS as u32 / SLOTS;
    assert!(took < full_speed + 2 * SECOND, "{took:?}");
    let mut fresh = world.sink.ids().split_off(tried.len());
    fresh.retain(|id| !tried.contains(id));
    assert!(fresh.is_sorted(), "oldest first: {fresh:?}");
}

#[tokio::test(start_paused = true)]
async fn new_events_do_not_overtake_what_a_replica_left() {
    let (world, leaves, stays) = two_replicas().await;
    leaves.shutdown(Duration::ZERO).await;
    let before = world.sink.ids().len();
    while world.sink.ids().len() == before {
        tokio::time::sleep(EACH).await;
    }
    // After the first batch: an empty slot would take the new delivery immediately.
    tokio::time::sleep(EACH * 3 / 2).await;
    world.send_twice(&stays, "new").await;
    world.until_count(EventStatus::Completed, EVENTS + 1).await;
    assert_eq!(world.sink.ids().last().map(String::as_str), Some("new"));
}

#[tokio::test(start_paused = true)]
async fn a_backlog_is_drained_although_new_events_keep_coming() {
    let (world, leaves, stays) = two_replicas().await;
    leaves.shutdown(Duration::ZERO).await;
    let left = world.count(EventStatus::Pending).await;
    assert!(left > 0);
    // Nearly as many as there are slots, all the time, so each would find a free one.
    for number in 0..100 {
        for slot in 1..SLOTS {
            world.send_twice(&stays, &format!("new_{number:03}_{slot}")).await;
        }
        tokio::time::sleep(EACH).await;
    }
    let done = world.sink.ids();
    let of_the_backlog: BTreeSet<&String> = done.iter().filter(|id| id.starts_with("evt_")).collect();
    assert_eq!(of_the_backlog.len(), EVENTS, "all of it ran");
    let old = done.iter().rposition(|id| id.starts_with("evt_")).unwrap();
    let overtook = done[..old].iter().filter(|id| id.starts_with("new_"));
    let in_a_second = (SECOND.as_millis() / EACH.as_millis()) as usize * SLOTS as usize;
    assert!(overtook.count() <= 2 * in_a_second, "{done:?}");
}

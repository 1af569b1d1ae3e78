//! Order: one at a time, in order of acceptance, for each key.

use std::time::Duration;

use hapax_core::store::{Disposal, ReplayMode};
use hapax_core::{EventStatus, OnDead};
use hapax_engine::Answer;

use crate::harness::{SECOND, World, failed};

#[tokio::test(start_paused = true)]
async fn a_failing_head_blocks_its_own_key_only_and_order_is_kept() {
    let mut world = World::new(|delivery, call| {
        let fails = delivery.event.identity.event_id == "a1" && call < 4;
        (SECOND, if fails { failed() } else { Answer::done(200) })
    });
    world.ordered(OnDead::Hold);
    let engine = world.start().await;
    for (id, lane) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a"), ("b2", "b")] {
        world.send_in_lane(&engine, id, lane).await;
    }
    world.until_count(EventStatus::Completed, 5).await;
    let ids = world.sink.ids();
    let of = |lane: char| {
        ids.iter()
            .filter(|id| id.starts_with(lane))
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(of('a'), ["a1", "a1", "a1", "a1", "a2", "a3"]);
    assert_eq!(of('b'), ["b1", "b2"]);
    let position = |id: &str| ids.iter().position(|seen| seen == id).unwrap();
    assert!(position("b2") < position("a2"), "b must not wait for a: {ids:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dead_head_holds_its_lane_until_it_is_discarded() {
    let mut world = World::new(|delivery, _| {
        let fails = delivery.event.identity.event_id == "a1";
        (Duration::ZERO, if fails { failed() } else { Answer::done(200) })
    });
    world.ordered(OnDead::Hold);
    let engine = world.start().await;
    let head = world.send_in_lane(&engine, "a1", "a").await;
    let next = world.send_in_lane(&engine, "a2", "a").await;
    world.until(head, EventStatus::Dead).await;
    tokio::time::sleep(1_000 * SECOND).await;
    assert_eq!(world.record(next).await.status, EventStatus::Pending);
    let discarded = engine
        .dispose(vec![(head, "billing".into())], Disposal::Discard, "ann")
        .await
        .unwrap();
    assert_eq!(discarded, 1);
    world.until(next, EventStatus::Completed).await;
}

#[tokio::test(start_paused = true)]
async fn a_dead_head_that_holds_its_lane_is_replayed_before_its_successors() {
    let mut world = World::new(|delivery, call| {
        let fails = delivery.event.identity.event_id == "a1" && call <= 5;
        (Duration::ZERO, if fails { failed() } else { Answer::done(200) })
    });
    world.ordered(OnDead::Hold);
    let engine = world.start().await;
    let head = world.send_in_lane(&engine, "a1", "a").await;
    let next = world.send_in_lane(&engine, "a2", "a").await;
    world.until(head, EventStatus::Dead).await;
    engine
        .replay(head, ReplayMode::Failed, None, "ann", "fixed")
        .await
        .unwrap();
    world.until(next, EventStatus::Completed).await;
    assert_eq!(world.sink.ids(), ["a1", "a1", "a1", "a1", "a1", "a1", "a2"]);
}

#[tokio::test(start_paused = true)]
async fn with_skip_a_dead_head_lets_the_next_run() {
    let mut world = World::new(|delivery, _| {
        let fails = delivery.event.identity.event_id == "a1";
        (Duration::ZERO, if fails { failed() } else { Answer::done(200) })
    });
    world.ordered(OnDead::Skip);
    let engine = world.start().await;
    let head = world.send_in_lane(&engine, "a1", "a").await;
    let next = world.send_in_lane(&engine, "a2", "a").await;
    world.until(next, EventStatus::Completed).await;
    assert_eq!(world.record(head).await.status, EventStatus::Dead);
}

#[tokio::test(start_paused = true)]
async fn one_key_runs_one_at_a_time_whatever_the_concurrency() {
    let mut world = World::new(|_, _| (SECOND, Answer::done(200)));
    world.ordered(OnDead::Hold);
    let engine = world.start().await;
    for number in 0..20 {
        world.send_in_lane(&engine, &format!("{number:02}"), "only").await;
    }
    world.until_count(EventStatus::Completed, 20).await;
    let ids = world.sink.ids();
    assert!(ids.is_sorted(), "{ids:?}");
    assert_eq!(
        world.sink.running_max.load(std::sync::atomic::Ordering::SeqCst),
        1
    );
}

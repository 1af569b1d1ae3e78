//! Order: for each key, one at a time and in the order of acceptance.

use std::time::Duration;

use hapax_core::store::{Disposal, EventQuery, ReplayJobState, ReplayMode};
use hapax_core::{DestinationId, EventStatus, OnDead};
use hapax_engine::{AttemptResult, Engine, ReplayRequest};

use crate::harness::{SECOND, World, destination, failed};

#[tokio::test(start_paused = true)]
async fn a_failing_head_blocks_its_own_key_only_and_order_is_kept() {
    let mut world = World::new(|delivery, call| {
        let fails = delivery.event.identity.event_id == "a1" && call < 4;
        (SECOND, if fails { failed() } else { AttemptResult::done(200) })
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
        (
            Duration::ZERO,
            if fails { failed() } else { AttemptResult::done(200) },
        )
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
        (
            Duration::ZERO,
            if fails { failed() } else { AttemptResult::done(200) },
        )
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
        (
            Duration::ZERO,
            if fails { failed() } else { AttemptResult::done(200) },
        )
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
    let mut world = World::new(|_, _| (SECOND, AttemptResult::done(200)));
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

/// Replays everything, at two events a second, to every destination or to one.
fn everything(to: Option<DestinationId>) -> ReplayRequest {
    ReplayRequest {
        query: EventQuery::default(),
        mode: ReplayMode::All,
        to,
        rate_per_second: 2,
        who: "ann".into(),
        why: String::new(),
    }
}

async fn ten_in_one_lane(world: &World, engine: &Engine) -> Vec<String> {
    let ids: Vec<String> = (0..10).map(|number| format!("a{number}")).collect();
    for id in &ids {
        world.send_in_lane(engine, id, "a").await;
    }
    world.until_count(EventStatus::Completed, ids.len()).await;
    ids
}

/// Waits until the destination has seen this many attempts.
async fn until_seen(world: &World, count: usize) {
    let reached = async {
        while world.sink.ids().len() < count {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    assert!(tokio::time::timeout(1_000 * SECOND, reached).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_bulk_replay_runs_a_lane_in_order_of_acceptance_over_portions_and_restarts() {
    let mut world = World::healthy();
    world.ordered(OnDead::Hold);
    let engine = world.start().await;
    let ids = ten_in_one_lane(&world, &engine).await;
    engine.start_replay(everything(None)).await.unwrap();
    until_seen(&world, 14).await;
    engine.shutdown(SECOND).await;
    let _engine = world.start().await;
    until_seen(&world, 20).await;
    assert_eq!(world.sink.ids()[10..], ids);
}

#[tokio::test(start_paused = true)]
async fn a_backfill_runs_a_lane_in_order_of_acceptance() {
    let mut world = World::healthy();
    world.ordered(OnDead::Hold);
    let engine = world.start().await;
    let ids = ten_in_one_lane(&world, &engine).await;
    let mut audit = world.routing.destinations.get(&"billing".into()).unwrap().clone();
    audit.id = "audit".into();
    world.routing.destinations.insert("audit".into(), audit);
    engine.reconfigure(world.routing.clone());
    engine
        .start_replay(everything(Some("audit".into())))
        .await
        .unwrap();
    until_seen(&world, 20).await;
    assert_eq!(world.sink.ids()[10..], ids);
}

#[tokio::test(start_paused = true)]
async fn bulk_replays_of_one_destination_run_one_after_another_over_replicas() {
    let mut world = World::healthy();
    let audit = destination("audit");
    world.routing.destinations.insert("audit".into(), audit);
    let (one, two) = (world.start().await, world.start().await);
    for number in 0..20 {
        world.send_twice(&one, &format!("evt_{number}")).await;
    }
    world.until_count(EventStatus::Completed, 20).await;
    let first = one.start_replay(everything(Some("audit".into()))).await.unwrap();
    // Ids show which is older only to the millisecond.
    tokio::time::sleep(Duration::from_millis(10)).await;
    let second = two.start_replay(everything(Some("audit".into()))).await.unwrap();
    let job = async |id| world.store.replay_job(id).await.unwrap().unwrap();
    while job(first.id).await.state == ReplayJobState::Running {
        assert_eq!(job(second.id).await.tally.matched, 0, "it waits for the first");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(job(second.id).await.state, ReplayJobState::Done);
}

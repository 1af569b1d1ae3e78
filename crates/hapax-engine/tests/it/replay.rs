//! Replay: one event or many, as a stored job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hapax_core::store::{EventQuery, ReplayJobState, ReplayMode, Replayed};
use hapax_core::{DestinationId, EventId, EventStatus};
use hapax_engine::{AttemptResult, Engine, ReplayRequest};

use crate::harness::{SECOND, World, destination, refused, route};

/// A destination that refuses everything until told otherwise.
fn broken() -> (World, Arc<AtomicBool>) {
    let healthy = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&healthy);
    let world = World::new(move |_, _| {
        let answer = if switch.load(Ordering::SeqCst) {
            AttemptResult::done(200)
        } else {
            refused()
        };
        (Duration::ZERO, answer)
    });
    (world, healthy)
}

fn all_dead(rate_per_second: u32) -> ReplayRequest {
    ReplayRequest {
        query: EventQuery {
            status: Some(EventStatus::Dead),
            ..EventQuery::default()
        },
        mode: ReplayMode::Failed,
        to: None,
        rate_per_second,
        who: "ann".into(),
        why: "fixed".to_owned(),
    }
}

async fn fifty_dead(world: &World, engine: &Engine) {
    for number in 0..50 {
        world.send_twice(engine, &format!("evt_{number}")).await;
    }
    world.until_count(EventStatus::Dead, 50).await;
}

#[tokio::test(start_paused = true)]
async fn a_bulk_replay_brings_back_what_its_preview_counted() {
    let (world, healthy) = broken();
    let engine = world.start().await;
    fifty_dead(&world, &engine).await;
    assert_eq!(engine.preview_replay(&all_dead(100)).await.unwrap().matched, 50);
    healthy.store(true, Ordering::SeqCst);
    let job = engine.start_replay(all_dead(100)).await.unwrap();
    world.until_count(EventStatus::Completed, 50).await;
    let job = world.store.replay_job(job.id).await.unwrap().unwrap();
    assert_eq!((job.state, job.tally.replayed), (ReplayJobState::Done, 50));
}

#[tokio::test(start_paused = true)]
async fn a_bulk_replay_goes_on_after_a_restart() {
    let (world, healthy) = broken();
    let engine = world.start().await;
    fifty_dead(&world, &engine).await;
    healthy.store(true, Ordering::SeqCst);
    engine.start_replay(all_dead(1)).await.unwrap();
    tokio::time::sleep(10 * SECOND).await;
    engine.shutdown(SECOND).await;
    let done = world.count(EventStatus::Completed).await;
    assert!(done > 0 && done < 50, "{done}");
    let _engine = world.start().await;
    world.until_count(EventStatus::Completed, 50).await;
}

#[tokio::test(start_paused = true)]
async fn one_replica_drives_a_bulk_replay_and_another_takes_it_over() {
    let (world, healthy) = broken();
    let engine = world.start().await;
    fifty_dead(&world, &engine).await;
    healthy.store(true, Ordering::SeqCst);
    let job = engine.start_replay(all_dead(1)).await.unwrap();
    let _other = world.start().await;
    tokio::time::sleep(20 * SECOND).await;
    let done = world.count(EventStatus::Completed).await;
    assert!(
        (15..=22).contains(&done),
        "{done}: the rate is the job's, not each replica's"
    );
    engine.shutdown(SECOND).await;
    world.until_count(EventStatus::Completed, 50).await;
    let job = world.store.replay_job(job.id).await.unwrap().unwrap();
    assert_eq!(
        (job.tally.matched, job.tally.replayed),
        (50, 50),
        "each was processed once"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_bulk_replay_stops() {
    let (world, healthy) = broken();
    let engine = world.start().await;
    fifty_dead(&world, &engine).await;
    healthy.store(true, Ordering::SeqCst);
    let job = engine.start_replay(all_dead(1)).await.unwrap();
    tokio::time::sleep(10 * SECOND).await;
    assert!(engine.cancel_replay(job.id, "ann").await.unwrap());
    tokio::time::sleep(100 * SECOND).await;
    let done = world.count(EventStatus::Completed).await;
    assert!(done > 0 && done < 50, "{done}");
    assert!(!engine.cancel_replay(job.id, "ann").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn the_same_key_by_default_and_a_new_one_by_force() {
    let world = World::healthy();
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    assert_eq!(
        engine
            .replay(id, ReplayMode::Failed, None, "ann", "")
            .await
            .unwrap(),
        Replayed::Nothing
    );
    for mode in [ReplayMode::All, ReplayMode::Force] {
        assert!(matches!(
            engine.replay(id, mode, None, "ann", "").await.unwrap(),
            Replayed::Again { .. }
        ));
        world.until(id, EventStatus::Completed).await;
    }
    let keys: Vec<_> = world.sink.seen().into_iter().map(|seen| seen.key).collect();
    assert_eq!(keys.len(), 3);
    assert_eq!(keys[0], keys[1]);
    assert_ne!(keys[1], keys[2]);
}

#[tokio::test(start_paused = true)]
async fn a_destination_added_later_is_reached_by_naming_it() {
    let mut world = World::healthy();
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    world
        .routing
        .destinations
        .insert("audit".into(), destination("audit"));
    engine.reconfigure(world.routing.clone());
    let replayed = engine
        .replay(id, ReplayMode::Failed, Some("audit".into()), "ann", "")
        .await
        .unwrap();
    assert!(
        matches!(replayed, Replayed::Again { deliveries: 1, .. }),
        "{replayed:?}"
    );
    world.until(id, EventStatus::Completed).await;
    assert_eq!(world.sink.seen().len(), 2);
}

const DAY: i64 = 86_400;

/// `billing` has an inbox of 60 days; `audit` promises nothing.
fn with_an_inbox() -> World {
    let mut world = World::healthy();
    world.destination(|billing| billing.remembers = Some(Duration::from_secs(60 * 86_400)));
    world
        .routing
        .destinations
        .insert("audit".into(), destination("audit"));
    world
        .routing
        .sources
        .insert("shop".into(), route("shop", &["billing", "audit"]));
    world
}

async fn replayed(world: &World, engine: &Engine, id: EventId, mode: ReplayMode, to: Option<&str>) -> u32 {
    let to = to.map(Into::into);
    let replayed = engine.replay(id, mode, to, "ann", "").await.unwrap();
    world.until(id, EventStatus::Completed).await;
    match replayed {
        Replayed::Again { deliveries, .. } => deliveries,
        Replayed::Nothing => 0,
        Replayed::Unfinished | Replayed::NotFound => panic!("{replayed:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_its_inbox_may_have_forgotten_is_replayed_by_force_alone() {
    let world = with_an_inbox();
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    // The replay of day 58 is the last effect that the inbox knows of.
    world.clock.step(58 * DAY);
    assert_eq!(replayed(&world, &engine, id, ReplayMode::All, None).await, 2);
    world.clock.step(58 * DAY);
    assert!(
        engine
            .too_late(&world.record(id).await, ReplayMode::All)
            .is_empty()
    );
    world.clock.step(2 * DAY);
    assert_eq!(
        engine.too_late(&world.record(id).await, ReplayMode::All),
        [DestinationId::from("billing")]
    );
    let completed = engine.too_late(&world.record(id).await, ReplayMode::Failed);
    assert_eq!(completed, [], "that mode would not touch it anyway");
    assert_eq!(replayed(&world, &engine, id, ReplayMode::All, None).await, 1);
    for _ in 0..2 {
        let only = Some("billing");
        assert_eq!(replayed(&world, &engine, id, ReplayMode::All, only).await, 0);
    }
    assert_eq!(
        replayed(&world, &engine, id, ReplayMode::All, Some("audit")).await,
        1
    );
    assert_eq!(replayed(&world, &engine, id, ReplayMode::Force, None).await, 2);
    // The next generation has its own note.
    assert_eq!(replayed(&world, &engine, id, ReplayMode::All, None).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_bulk_replay_leaves_alone_what_an_inbox_may_have_forgotten() {
    let world = with_an_inbox();
    let engine = world.start().await;
    let old = world.send_twice(&engine, "evt_old").await;
    world.until(old, EventStatus::Completed).await;
    world.clock.step(60 * DAY);
    let young = world.send_twice(&engine, "evt_young").await;
    world.until(young, EventStatus::Completed).await;
    let all = |to: Option<&str>| ReplayRequest {
        query: EventQuery::default(),
        mode: ReplayMode::All,
        to: to.map(Into::into),
        ..all_dead(100)
    };
    for (to, deliveries, skipped) in [(None, 3, 0), (Some("billing"), 1, 1)] {
        let job = engine.start_replay(all(to)).await.unwrap();
        let done = async {
            loop {
                let job = world.store.replay_job(job.id).await.unwrap().unwrap();
                if job.state == ReplayJobState::Done {
                    return job.tally;
                }
                tokio::time::sleep(SECOND).await;
            }
        };
        let tally = tokio::time::timeout(1_000 * SECOND, done).await.unwrap();
        assert_eq!(
            (tally.matched, tally.replayed, tally.skipped),
            (2, deliveries, skipped)
        );
        world.until_count(EventStatus::Completed, 2).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_that_failed_does_not_hide_an_effect_of_long_ago() {
    let healthy = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&healthy);
    let mut world = World::new(move |_, _| {
        let is_healthy = switch.load(Ordering::SeqCst);
        let answer = if is_healthy {
            AttemptResult::done(200)
        } else {
            refused()
        };
        (Duration::ZERO, answer)
    });
    world.destination(|billing| billing.remembers = Some(Duration::from_secs(60 * 86_400)));
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    world.clock.step(58 * DAY);
    healthy.store(false, Ordering::SeqCst);
    engine.replay(id, ReplayMode::All, None, "ann", "").await.unwrap();
    world.until(id, EventStatus::Dead).await;
    healthy.store(true, Ordering::SeqCst);
    world.clock.step(4 * DAY);
    for _ in 0..2 {
        let again = engine.replay(id, ReplayMode::Failed, None, "ann", "").await;
        assert_eq!(again.unwrap(), Replayed::Nothing);
    }
}

#[tokio::test(start_paused = true)]
async fn a_replayed_delivery_that_waits_until_its_inbox_may_have_forgotten_is_not_applied_again() {
    let world = with_an_inbox();
    let engine = world.start().await;
    let id = world.send_twice(&engine, "evt_1").await;
    world.until(id, EventStatus::Completed).await;
    engine.pause("billing".into(), "ann", "deploy").await.unwrap();
    let never_applied = world.send_twice(&engine, "evt_2").await;
    world.clock.step(58 * DAY);
    let replayed = engine.replay(id, ReplayMode::All, None, "ann", "").await;
    assert!(matches!(replayed.unwrap(), Replayed::Again { deliveries: 2, .. }));
    world.clock.step(2 * DAY);
    engine.resume(&"billing".into(), "ann").await.unwrap();
    world.until(id, EventStatus::Dead).await;
    world.until(never_applied, EventStatus::Completed).await;
    let times = |name: &str| world.sink.ids().iter().filter(|id| *id == name).count();
    assert_eq!(
        (times("evt_1"), times("evt_2")),
        (3, 2),
        "only `audit` got it again"
    );
    let attempts = world.record(id).await.attempts;
    let told = attempts.into_iter().find_map(|one| one.attempt.message).unwrap();
    assert!(told.contains("--mode force"), "{told}");
    for _ in 0..2 {
        let again = engine.replay(id, ReplayMode::Failed, None, "ann", "").await;
        assert_eq!(again.unwrap(), Replayed::Nothing);
    }
}

//! Replays in lanes: a delivery takes the position of its acceptance among those that wait.

use std::sync::Arc;

use hapax_core::store::{Candidates, Disposal, ReplayMode, ReplayOrder, ReplayTarget};
use hapax_core::{AttemptOutcome, EventId, Lane, OnDead};

use super::lanes::{line, runs_in_order};
use super::replay::to_all;
use crate::Bench;
use crate::bench::{LONG, Must, again, dead, order};

/// A replayed delivery runs before those accepted later, even before a head that is due.
pub async fn a_replay_takes_the_place_of_its_acceptance(bench: &mut Bench) {
    let ids = line(bench, 3, OnDead::Hold).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
    assert!(bench.delivery(ids[1], "orders").await.due_at.is_some());
    bench.replay(ids[0], ReplayMode::All).await;
    assert_eq!(bench.delivery(ids[1], "orders").await.due_at, None, "it gave way");
    runs_in_order(bench, &ids).await;
}

/// In whatever order they are replayed, and across a restart.
pub async fn replays_in_any_order_run_in_order_of_acceptance(bench: &mut Bench) {
    let ids = line(bench, 6, OnDead::Hold).await;
    runs_in_order(bench, &ids).await;
    for mode in [ReplayMode::All, ReplayMode::Force] {
        for (number, id) in ids.iter().rev().enumerate() {
            bench.replay(*id, mode).await;
            if number == 3 {
                bench.reopen().await;
            }
        }
        runs_in_order(bench, &ids).await;
    }
}

/// The same for replays in one call.
pub async fn replays_of_one_call_run_in_order_of_acceptance(bench: &mut Bench) {
    let ids = line(bench, 6, OnDead::Hold).await;
    runs_in_order(bench, &ids).await;
    let orders = ids.iter().rev().map(|id| to_all(*id, ReplayMode::All)).collect();
    bench.store.replay(orders).await.must();
    runs_in_order(bench, &ids).await;
}

/// A new delivery comes behind earlier replays.
pub async fn a_newcomer_stands_behind_replays(bench: &mut Bench) {
    let mut ids = line(bench, 3, OnDead::Hold).await;
    runs_in_order(bench, &ids).await;
    bench.replay(ids[1], ReplayMode::All).await;
    let late = bench
        .stored(bench.event("late").in_lane("orders", "customer", OnDead::Hold))
        .await;
    bench.replay(ids[2], ReplayMode::All).await;
    bench.replay(ids[0], ReplayMode::All).await;
    ids.push(late);
    runs_in_order(bench, &ids).await;
}

/// A head that is running or waits for a retry keeps its turn.
pub async fn a_head_that_was_tried_keeps_its_turn(bench: &mut Bench) {
    let ids = line(bench, 4, OnDead::Hold).await;
    for id in &ids[..2] {
        assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, *id);
    }
    let running = bench.lease("orders").await.must();
    bench.replay(ids[1], ReplayMode::All).await;
    assert!(bench.lease("orders").await.is_none(), "while it runs");
    bench.finished(&running, again()).await;
    bench.replay(ids[0], ReplayMode::All).await;
    runs_in_order(bench, &[ids[2], ids[0], ids[1], ids[3]]).await;
}

/// A dead delivery that holds its lane blocks those after it, and none before it.
pub async fn a_dead_head_holds_up_only_those_after_it(bench: &mut Bench) {
    let ids = line(bench, 4, OnDead::Hold).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
    assert_eq!(bench.run("orders", dead()).await, ids[1]);
    bench.replay(ids[0], ReplayMode::All).await;
    runs_in_order(bench, &ids[..1]).await;
    bench.replay(ids[0], ReplayMode::All).await;
    bench.replay(ids[1], ReplayMode::Failed).await;
    runs_in_order(bench, &ids).await;
}

/// A delivery that dies does not block replays in front of it.
pub async fn one_that_dies_does_not_hold_up_those_before_it(bench: &mut Bench) {
    let ids = line(bench, 3, OnDead::Hold).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
    let running = bench.lease("orders").await.must();
    bench.replay(ids[0], ReplayMode::All).await;
    bench.finished(&running, dead()).await;
    runs_in_order(bench, &ids[..1]).await;
    bench.replay(ids[1], ReplayMode::Failed).await;
    runs_in_order(bench, &ids[1..]).await;
}

/// A lane that is released while one of its deliveries is running waits for that one.
pub async fn a_discard_beside_a_running_head_lets_nobody_run_beside_it(bench: &mut Bench) {
    let ids = line(bench, 3, OnDead::Hold).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
    assert_eq!(bench.run("orders", dead()).await, ids[1]);
    bench.replay(ids[0], ReplayMode::All).await;
    let running = bench.lease("orders").await.must();
    let discarded = vec![(ids[1], "orders".into())];
    bench.store.dispose(discarded, Disposal::Discard).await.must();
    assert!(bench.lease("orders").await.is_none());
    bench.finished(&running, AttemptOutcome::Completed).await;
    runs_in_order(bench, &ids[2..]).await;
}

/// A delivery that enters a lane only by a replay takes the position of its acceptance, too.
pub async fn a_replay_to_another_lane_takes_the_place_of_its_acceptance(bench: &mut Bench) {
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(bench.completed(&format!("old_{number}"), "billing").await);
        bench.tick().await;
    }
    let head = bench
        .stored(bench.event("head").in_lane("orders", "customer", OnDead::Hold))
        .await;
    for id in ids.iter().rev() {
        bench.replay_order(into_lane(*id)).await;
    }
    ids.push(head);
    runs_in_order(bench, &ids).await;
}

/// While many replay and one works, no lane ever has two running, and none is left behind.
pub async fn a_lane_runs_one_at_a_time_while_many_replay(bench: &mut Bench) {
    const LENGTH: usize = 24;
    let ids = line(bench, LENGTH, OnDead::Hold).await;
    runs_in_order(bench, &ids).await;
    let mut tasks = Vec::new();
    for share in ids.chunks(6) {
        let (store, share) = (Arc::clone(&bench.store), share.to_vec());
        tasks.push(tokio::spawn(async move {
            for id in share.into_iter().rev() {
                store.replay(vec![to_all(id, ReplayMode::All)]).await.must();
            }
        }));
    }
    let mut done = Vec::new();
    let mut all_are_back = false;
    loop {
        let due = order("orders", 10, LONG, Candidates::Fresh);
        let leased = bench.store.lease(due).await.must().leased;
        assert!(leased.len() <= 1, "one at a time");
        if let Some(leased) = leased.first() {
            assert!(bench.lease("orders").await.is_none(), "nothing runs alongside it");
            done.push(leased.event.id);
            bench.finished(leased, AttemptOutcome::Completed).await;
        } else if all_are_back {
            break;
        } else {
            all_are_back = tasks.iter().all(tokio::task::JoinHandle::is_finished);
            tokio::task::yield_now().await;
        }
    }
    for task in tasks {
        task.await.must();
    }
    done.sort_unstable();
    assert_eq!(done, ids, "each once, and none is left behind");
}

fn into_lane(event: EventId) -> ReplayOrder {
    let lane = Lane {
        key: "customer".to_owned(),
        on_dead: OnDead::Hold,
    };
    ReplayOrder {
        to: Some(ReplayTarget {
            destination: "orders".into(),
            lane: Some(lane),
        }),
        ..to_all(event, ReplayMode::All)
    }
}

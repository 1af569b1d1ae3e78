//! What ends a turn in a lane other than success: death, discard and replay.

use hapax_core::store::{Disposal, ReplayMode, Replayed};
use hapax_core::{AttemptOutcome, OnDead};

use super::lanes::{line, runs_in_order};
use crate::Bench;
use crate::bench::{Must, dead};

/// With `Hold`, a dead head blocks its lane until an operator decides; a discard lets it continue.
pub async fn a_dead_head_holds_its_lane_until_it_is_discarded(bench: &mut Bench) {
    let ids = line(bench, 2, OnDead::Hold).await;
    assert_eq!(bench.run("orders", dead()).await, ids[0]);
    bench.expire().await;
    assert!(bench.lease("orders").await.is_none());
    let late = bench
        .stored(bench.event("late").in_lane("orders", "customer", OnDead::Hold))
        .await;
    assert!(bench.lease("orders").await.is_none(), "newcomers wait too");
    bench
        .store
        .dispose(vec![(ids[0], "orders".into())], Disposal::Discard)
        .await
        .must();
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[1]);
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, late);
}

/// A dead head that holds its lane is replayed in place, ahead of the others.
pub async fn a_dead_head_that_holds_its_lane_is_replayed_in_place(bench: &mut Bench) {
    let ids = line(bench, 3, OnDead::Hold).await;
    bench.run("orders", dead()).await;
    assert!(matches!(
        bench.replay(ids[0], ReplayMode::Failed).await,
        Replayed::Again { .. }
    ));
    for id in ids {
        let leased = bench.lease_many("orders", 10).await;
        assert_eq!(
            leased.iter().map(|leased| leased.event.id).collect::<Vec<_>>(),
            [id]
        );
        bench.finished(&leased[0], AttemptOutcome::Completed).await;
    }
}

/// With `Skip`, the next one runs; a replay takes its position again.
pub async fn a_dead_head_is_skipped_where_the_lane_says_so(bench: &mut Bench) {
    let ids = line(bench, 4, OnDead::Skip).await;
    assert_eq!(bench.run("orders", dead()).await, ids[0]);
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[1]);
    bench.replay(ids[0], ReplayMode::Failed).await;
    runs_in_order(bench, &[ids[0], ids[2], ids[3]]).await;
}

/// A delivery lost three times ends its turn like any other dead one.
pub async fn a_lost_head_holds_or_skips_like_any_dead_one(bench: &mut Bench) {
    for on_dead in [OnDead::Hold, OnDead::Skip] {
        let key = format!("{on_dead:?}");
        for n in 0..2 {
            let draft = bench
                .event(&format!("{key}_{n}"))
                .in_lane(&key, "customer", on_dead);
            bench.stored(draft).await;
        }
        for _ in 0..hapax_core::store::LOST_MAX {
            bench.lease_briefly(&key).await;
            bench.expire().await;
            bench.rescue().await;
        }
        let went_on = bench.lease(&key).await.is_some();
        assert_eq!(went_on, on_dead == OnDead::Skip);
    }
}

/// In an empty lane, a replayed delivery is the head at once.
pub async fn a_replay_into_an_empty_lane_is_due(bench: &mut Bench) {
    let ids = line(bench, 1, OnDead::Hold).await;
    bench.run("orders", AttemptOutcome::Completed).await;
    bench.replay(ids[0], ReplayMode::Force).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
}

/// A discarded head that is replayed takes its position again, although its lane continued without it.
pub async fn a_discarded_head_is_replayed_in_its_place(bench: &mut Bench) {
    let ids = line(bench, 2, OnDead::Hold).await;
    bench.run("orders", dead()).await;
    bench
        .store
        .dispose(vec![(ids[0], "orders".into())], Disposal::Discard)
        .await
        .must();
    bench.replay(ids[0], ReplayMode::Failed).await;
    runs_in_order(bench, &ids).await;
}

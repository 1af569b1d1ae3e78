//! Purge: payloads are deleted by their window, dead letters by theirs, unfinished deliveries never.

use std::time::Duration;

use hapax_core::store::{Disposal, PurgeOrder, PurgeWindow, ReplayMode};
use hapax_core::{AttemptOutcome, EventId, OnDead, Timestamp};

use crate::Bench;
use crate::bench::{LONG, Must, dead};
use crate::clock::START;

pub(super) const FAR: Duration = Duration::from_secs(1000 * 86_400);

/// An unfinished delivery is never deleted, however old it is.
pub async fn unfinished_work_is_never_purged(bench: &mut Bench) {
    let pending = bench.stored(bench.event("pending").to("a")).await;
    let running = bench.stored(bench.event("running").to("b")).await;
    bench.lease("b").await.must();
    let retrying = bench.stored(bench.event("retrying").to("c")).await;
    bench.run("c", AttemptOutcome::Retry { after: LONG }).await;
    let half = bench.stored(bench.event("half").to("d").to("e")).await;
    bench.run("d", AttemptOutcome::Completed).await;
    let purged = bench.purge(&everything(bench).await).await;
    assert_eq!((purged.events, purged.ledger), (0, 0));
    for id in [pending, running, retrying, half] {
        bench.record(id).await;
    }
    assert_eq!(
        bench.record(half).await.deliveries.len(),
        2,
        "outcomes stay with their event"
    );
}

/// A replayed delivery is unfinished again.
pub async fn a_replayed_event_is_not_purged(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    bench.replay(id, ReplayMode::Failed).await;
    assert_eq!(bench.purge(&everything(bench).await).await.events, 0);
    bench.run("billing", AttemptOutcome::Completed).await;
    assert_eq!(bench.purge(&everything(bench).await).await.events, 1);
}

/// Events received before the cut-off are deleted; those received at it or later stay.
pub async fn payloads_go_by_when_they_were_received(bench: &mut Bench) {
    let at = |seconds| START.plus(Duration::from_secs(seconds));
    let old = bench.stored(bench.event("old").received_at(at(0))).await;
    let young = bench.stored(bench.event("young").received_at(at(10))).await;
    let order = PurgeOrder {
        windows: vec![window("shop", at(10), Timestamp::default())],
        ledger_before: Timestamp::default(),
        limit: 100,
    };
    assert_eq!(bench.purge(&order).await.events, 1);
    assert!(bench.store.get(old).await.must().is_none());
    bench.record(young).await;
}

/// The current order's window counts: events that an earlier, shorter one had reached are not doomed.
pub async fn a_window_that_was_lengthened_keeps_what_it_covers(bench: &mut Bench) {
    let late = bench.stored(bench.event("late").to("billing")).await;
    let died = bench.dead("died", "other").await;
    let keep_dead = PurgeOrder {
        windows: vec![window("shop", START.plus(FAR), Timestamp::default())],
        ledger_before: Timestamp::default(),
        limit: 100,
    };
    assert_eq!(bench.purge(&keep_dead).await.events, 0);
    bench.run("billing", AttemptOutcome::Completed).await;
    let longer = PurgeOrder {
        windows: vec![window("shop", START, START.plus(FAR))],
        ..keep_dead
    };
    assert_eq!(bench.purge(&longer).await.events, 0);
    for id in [late, died] {
        bench.record(id).await;
    }
}

/// A dead letter keeps its event for the dead-letter window, counted from when it died.
pub async fn a_dead_letter_keeps_its_event_for_the_dead_window(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    bench.tick().await;
    let died_before = bench.now().await;
    let keep_dead = |dead_before| PurgeOrder {
        windows: vec![window("shop", START.plus(FAR), dead_before)],
        ledger_before: START.plus(FAR),
        limit: 100,
    };
    let purged = bench.purge(&keep_dead(died_before.minus(LONG))).await;
    assert_eq!((purged.events, purged.ledger), (0, 0));
    bench.record(id).await;
    assert_eq!(bench.purge(&keep_dead(died_before)).await.events, 1);
    assert!(bench.store.get(id).await.must().is_none());
}

/// Each dead letter of an event keeps it.
pub async fn the_youngest_dead_letter_keeps_the_event(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("a").to("b")).await;
    bench.run("a", dead()).await;
    bench.tick().await;
    let between = bench.now().await;
    bench.tick().await;
    bench.run("b", dead()).await;
    let order = PurgeOrder {
        windows: vec![window("shop", START.plus(FAR), between)],
        ledger_before: Timestamp::default(),
        limit: 100,
    };
    assert_eq!(bench.purge(&order).await.events, 0);
    bench.record(id).await;
}

/// Discarding deletes nothing early: until the dead-letter window ends, a discarded delivery can be restored.
pub async fn a_discarded_dead_letter_can_be_restored_for_the_dead_window(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    bench.tick().await;
    let died_before = bench.now().await;
    let order = |dead_before| PurgeOrder {
        windows: vec![window("shop", START.plus(FAR), dead_before)],
        ledger_before: START.plus(FAR),
        limit: 100,
    };
    for disposal in [Disposal::Discard, Disposal::Restore, Disposal::Discard] {
        let changed = bench.store.dispose(vec![(id, "billing".into())], disposal).await;
        assert_eq!(changed.must(), 1, "{disposal:?} finds it");
        let purged = bench.purge(&order(died_before.minus(LONG))).await;
        assert_eq!((purged.events, purged.ledger), (0, 0), "after {disposal:?}");
    }
    assert_eq!(bench.purge(&order(died_before)).await.events, 1);
    let restored = bench
        .store
        .dispose(vec![(id, "billing".into())], Disposal::Restore)
        .await;
    assert_eq!(restored.must(), 0, "its window has ended");
}

/// A source without a window keeps its payloads.
pub async fn other_sources_are_left_alone(bench: &mut Bench) {
    let ours = bench.stored(bench.event_in("shop", "evt_1")).await;
    let theirs = bench.stored(bench.event_in("bank", "evt_1")).await;
    let purged = bench.purge(&everything(bench).await).await;
    assert_eq!((purged.events, purged.ledger), (1, 1));
    assert!(bench.store.get(ours).await.must().is_none());
    bench.record(theirs).await;
}

/// Purging a dead head must not leave its lane blocked forever.
pub async fn a_purged_dead_head_lets_its_lane_go_on(bench: &mut Bench) {
    let mut ids: Vec<EventId> = Vec::new();
    for n in 0..2 {
        let draft = bench
            .event(&format!("evt_{n}"))
            .in_lane("orders", "customer", OnDead::Hold);
        ids.push(bench.stored(draft).await);
    }
    bench.run("orders", dead()).await;
    bench.tick().await;
    assert_eq!(bench.purge(&everything(bench).await).await.events, 1);
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[1]);
}

/// Purges everything of the source `shop` that can be deleted at all.
pub(super) async fn everything(bench: &Bench) -> PurgeOrder {
    let far = bench.now().await.plus(FAR);
    PurgeOrder {
        windows: vec![window("shop", far, far)],
        ledger_before: far,
        limit: 100,
    }
}

pub(super) fn window(source: &str, payload_before: Timestamp, dead_before: Timestamp) -> PurgeWindow {
    PurgeWindow {
        source: source.into(),
        payload_before,
        dead_before,
    }
}

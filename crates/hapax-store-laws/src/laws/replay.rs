//! Replay: finished deliveries become unfinished again, in place, by mode.

use std::collections::BTreeSet;
use std::sync::Arc;

use hapax_core::store::{Disposal, ReplayMode, ReplayOrder, Replayed};
use hapax_core::{AttemptOutcome, DeliveryState, EventId, Generation, Identity};

use crate::Bench;
use crate::bench::{Must, again, dead};

/// By default only failed deliveries run again, under their own keys.
pub async fn failed_mode_replays_dead_deliveries_only(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("bad").to("good")).await;
    bench.run("good", AttemptOutcome::Completed).await;
    let first = bench.lease("bad").await.must();
    bench.finished(&first, dead()).await;
    assert_eq!(bench.replay(id, ReplayMode::Failed).await, once(1, 0));
    let view = bench.delivery(id, "bad").await;
    assert_eq!(
        (view.state, view.attempts, view.lost),
        (DeliveryState::Pending, 0, 0)
    );
    assert_eq!((view.error, view.finished_at), (None, None));
    assert!(view.due_at.must() <= bench.now().await);
    let leased = bench.lease("bad").await.must();
    assert_eq!(leased.attempt, 1, "attempts start at zero");
    assert_eq!(leased.idempotency_key, first.idempotency_key);
    assert!(bench.lease("good").await.is_none());
    assert_eq!(bench.delivery(id, "good").await.state, DeliveryState::Completed);
}

/// Discarded deliveries have failed as well.
pub async fn failed_mode_replays_discarded_deliveries(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    bench
        .store
        .dispose(vec![(id, "billing".into())], Disposal::Discard)
        .await
        .must();
    assert_eq!(bench.replay(id, ReplayMode::Failed).await, once(1, 0));
    assert_eq!(bench.run("billing", AttemptOutcome::Completed).await, id);
}

/// If nothing failed, there is nothing to do.
pub async fn failed_mode_leaves_completed_deliveries_alone(bench: &mut Bench) {
    let completed = bench.completed("evt_1", "billing").await;
    let ignored = bench.stored(bench.event("evt_2")).await;
    assert_eq!(
        bench.replay(completed, ReplayMode::Failed).await,
        Replayed::Nothing
    );
    assert_eq!(bench.replay(ignored, ReplayMode::All).await, Replayed::Nothing);
    assert!(bench.lease("billing").await.is_none());
}

/// Completed ones too, under the same key: a destination that deduplicates does nothing.
pub async fn all_mode_replays_everything_under_the_same_keys(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("bad").to("good")).await;
    let mut keys = Vec::new();
    for (to, outcome) in [("bad", dead()), ("good", AttemptOutcome::Completed)] {
        let leased = bench.lease(to).await.must();
        keys.push(leased.idempotency_key);
        bench.finished(&leased, outcome).await;
    }
    assert_eq!(bench.replay(id, ReplayMode::All).await, once(2, 0));
    for (to, key) in ["bad", "good"].into_iter().zip(keys) {
        assert_eq!(bench.lease(to).await.must().idempotency_key, key);
    }
}

/// As the next generation, under new keys: it takes effect again.
pub async fn force_mode_replays_everything_under_new_keys(bench: &mut Bench) {
    let identity = Identity::new("shop", "evt_1");
    let id = bench.completed("evt_1", "billing").await;
    for generation in 1..=3 {
        assert_eq!(bench.replay(id, ReplayMode::Force).await, once(1, generation));
        let leased = bench.lease("billing").await.must();
        assert_eq!(leased.generation, Generation(generation));
        let key = identity.idempotency_key(Generation(generation), &"billing".into());
        assert_eq!(leased.idempotency_key, key);
        bench.finished(&leased, AttemptOutcome::Completed).await;
    }
    assert_eq!(
        bench.record(id).await.deliveries.len(),
        1,
        "in place: one for each destination"
    );
    assert_eq!(
        bench.look_up("evt_1").await.must().id,
        id,
        "it is still the first"
    );
}

/// After a forced replay, an ordinary one keeps the forced key.
pub async fn a_replay_after_a_forced_one_keeps_its_generation(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    bench.replay(id, ReplayMode::Force).await;
    let forced = bench.lease("billing").await.must();
    bench.finished(&forced, dead()).await;
    assert_eq!(bench.replay(id, ReplayMode::Failed).await, once(1, 1));
    assert_eq!(
        bench.lease("billing").await.must().idempotency_key,
        forced.idempotency_key
    );
}

/// No sequence of deliberate actions ever issues a key twice.
pub async fn no_key_is_given_twice_on_purpose(bench: &mut Bench) {
    let identity = Identity::new("shop", "evt_1");
    let mut keys = Vec::new();
    let first = bench.stored(bench.event("evt_1").to("billing")).await;
    keys.push(run_for_key(bench).await);
    bench.replay(first, ReplayMode::Force).await;
    keys.push(run_for_key(bench).await);
    bench.store.forget(&identity).await.must();
    bench.replay(first, ReplayMode::Force).await;
    keys.push(run_for_key(bench).await);
    let second = bench.stored(bench.event("evt_1").to("billing")).await;
    keys.push(run_for_key(bench).await);
    bench.replay(first, ReplayMode::Force).await;
    keys.push(run_for_key(bench).await);
    bench.replay(second, ReplayMode::Force).await;
    keys.push(run_for_key(bench).await);
    bench.store.forget(&identity).await.must();
    bench.stored(bench.event("evt_1").to("billing")).await;
    keys.push(run_for_key(bench).await);
    let different: BTreeSet<_> = keys.iter().collect();
    assert_eq!(different.len(), keys.len(), "{keys:?}");
}

/// Unfinished deliveries are not duplicated, whatever the mode.
pub async fn a_replay_of_unfinished_work_is_refused(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    refused_in_every_mode(bench, id).await;
    let leased = bench.lease("billing").await.must();
    refused_in_every_mode(bench, id).await;
    bench.finished(&leased, again()).await;
    refused_in_every_mode(bench, id).await;
    assert_eq!(bench.lease_many("billing", 10).await.len(), 1);
}

/// One unfinished delivery makes the replay refuse the whole event.
pub async fn one_unfinished_delivery_refuses_the_event_whole(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("bad").to("slow")).await;
    bench.run("bad", dead()).await;
    refused_in_every_mode(bench, id).await;
    assert_eq!(bench.delivery(id, "bad").await.state, DeliveryState::Dead);
}

/// Concurrent replays put a delivery back once.
pub async fn of_many_concurrent_replays_one_puts_work_back(bench: &mut Bench) {
    let id = bench.dead("evt_1", "billing").await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let store = Arc::clone(&bench.store);
        let order = to_all(id, ReplayMode::Force);
        tasks.push(tokio::spawn(async move {
            store.replay(vec![order]).await.must().remove(0)
        }));
    }
    let mut again = 0;
    for task in tasks {
        match task.await.must() {
            Replayed::Again { .. } => again += 1,
            refused => assert_eq!(refused, Replayed::Unfinished),
        }
    }
    assert_eq!(again, 1);
    assert_eq!(bench.lease_many("billing", 10).await.len(), 1);
}

async fn run_for_key(bench: &Bench) -> hapax_core::IdempotencyKey {
    let leased = bench.lease("billing").await.must();
    bench.finished(&leased, AttemptOutcome::Completed).await;
    leased.idempotency_key
}

async fn refused_in_every_mode(bench: &Bench, id: EventId) {
    for mode in [ReplayMode::Failed, ReplayMode::All, ReplayMode::Force] {
        assert_eq!(bench.replay(id, mode).await, Replayed::Unfinished, "{mode:?}");
    }
}

pub(super) fn once(deliveries: u32, generation: u32) -> Replayed {
    Replayed::Again {
        deliveries,
        generation: Generation(generation),
    }
}

pub(super) fn to_all(event: EventId, mode: ReplayMode) -> ReplayOrder {
    ReplayOrder {
        event,
        mode,
        to: None,
        job: None,
    }
}

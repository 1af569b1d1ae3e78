//! Forget: an identity may be accepted again, as its next generation.

use hapax_core::store::{Claim, Forgotten, ReplayMode};
use hapax_core::{AttemptOutcome, Generation, Identity};

use crate::Bench;
use crate::bench::{Must, again};

/// The next event is new, of the next generation, under a new key.
pub async fn a_forgotten_identity_is_new_again_as_its_next_generation(bench: &mut Bench) {
    let identity = Identity::new("shop", "evt_1");
    let mut keys = Vec::new();
    for generation in 0..3 {
        let claim = bench.accept(bench.event("evt_1").to("billing")).await;
        let Claim::New {
            generation: given, ..
        } = claim
        else {
            panic!("expected a new event, got {claim:?}");
        };
        assert_eq!(given, Generation(generation));
        let leased = bench.lease("billing").await.must();
        assert_eq!(leased.generation, Generation(generation));
        keys.push(leased.idempotency_key);
        bench.finished(&leased, AttemptOutcome::Completed).await;
        let next = Generation(generation + 1);
        assert_eq!(
            bench.store.forget(&identity).await.must(),
            Forgotten::Done { next }
        );
    }
    keys.dedup();
    assert_eq!(keys.len(), 3);
}

/// Forgetting while a delivery runs could run it twice under one identity.
pub async fn forgetting_is_refused_while_work_is_unfinished(bench: &mut Bench) {
    let identity = Identity::new("shop", "evt_1");
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    assert_eq!(bench.store.forget(&identity).await.must(), Forgotten::Unfinished);
    let leased = bench.lease("billing").await.must();
    assert_eq!(bench.store.forget(&identity).await.must(), Forgotten::Unfinished);
    bench.finished(&leased, again()).await;
    assert_eq!(bench.store.forget(&identity).await.must(), Forgotten::Unfinished);
    assert!(matches!(bench.accept(bench.event("evt_1")).await, Claim::Seen(_)));
    bench.run("billing", AttemptOutcome::Completed).await;
    bench.replay(id, ReplayMode::All).await;
    assert_eq!(bench.store.forget(&identity).await.must(), Forgotten::Unfinished);
}

/// An identity that the ledger does not know, or has already forgotten, cannot be forgotten.
pub async fn only_a_known_identity_can_be_forgotten(bench: &mut Bench) {
    let identity = Identity::new("shop", "evt_1");
    assert_eq!(bench.store.forget(&identity).await.must(), Forgotten::NotFound);
    bench.stored(bench.event("evt_1")).await;
    assert!(matches!(
        bench.store.forget(&identity).await.must(),
        Forgotten::Done { .. }
    ));
    assert_eq!(bench.store.forget(&identity).await.must(), Forgotten::NotFound);
    let elsewhere = Identity::new("bank", "evt_1");
    assert_eq!(bench.store.forget(&elsewhere).await.must(), Forgotten::NotFound);
}

/// The ledger does not find a forgotten identity; the event itself can still be read.
pub async fn a_forgotten_identity_is_not_found_but_its_event_is(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    bench.store.forget(&Identity::new("shop", "evt_1")).await.must();
    assert_eq!(bench.look_up("evt_1").await, None);
    assert_eq!(bench.record(id).await.event.id, id);
    let next = bench.stored(bench.event("evt_1").to("billing")).await;
    assert_eq!(bench.look_up("evt_1").await.must().id, next);
    assert_eq!(bench.look_up("evt_1").await.must().generation, Generation(1));
    assert_eq!(bench.record(id).await.deliveries.len(), 1);
}

/// The tombstone survives a restart.
pub async fn a_tombstone_survives_a_restart(bench: &mut Bench) {
    bench.stored(bench.event("evt_1")).await;
    bench.store.forget(&Identity::new("shop", "evt_1")).await.must();
    bench.reopen().await;
    assert_eq!(bench.look_up("evt_1").await, None);
    let Claim::New { generation, .. } = bench.accept(bench.event("evt_1")).await else {
        panic!("a forgotten identity is new");
    };
    assert_eq!(generation, Generation(1));
}

/// Of many later requests, one is new.
pub async fn of_duplicates_after_forgetting_one_is_new(bench: &mut Bench) {
    bench.stored(bench.event("evt_1")).await;
    bench.store.forget(&Identity::new("shop", "evt_1")).await.must();
    let mut tasks = Vec::new();
    for _ in 0..12 {
        let request = hapax_core::store::AcceptRequest {
            events: vec![bench.event("evt_1").build()],
        };
        let store = std::sync::Arc::clone(&bench.store);
        tasks.push(tokio::spawn(async move {
            store.accept(vec![request]).await.remove(0).must().remove(0)
        }));
    }
    let mut new = 0;
    for task in tasks {
        new += usize::from(matches!(task.await.must(), Claim::New { .. }));
    }
    assert_eq!(new, 1);
}

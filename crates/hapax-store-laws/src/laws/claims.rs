//! Uniqueness: of all requests with one identity, exactly one is the first.

use std::sync::Arc;

use hapax_core::store::{AcceptRequest, Claim};
use hapax_core::{Backend, EventId, NewEvent};

use crate::Bench;
use crate::bench::{Draft, Must};

const DUPLICATES: usize = 24;
const IDENTITIES: usize = 12;

/// Many tasks accept the same identity at once.
pub async fn of_many_concurrent_duplicates_exactly_one_is_new(bench: &mut Bench) {
    for round in 0..4 {
        let duplicates: Vec<_> = (0..DUPLICATES)
            .map(|_| vec![bench.event(&format!("evt_{round}")).to("billing").build()])
            .collect();
        let claims = accept_at_once(&bench.store, duplicates).await;
        let first = the_only_new(&claims);
        for (id, claim) in &claims {
            if let Claim::Seen(entry) = claim {
                assert_eq!(entry.id, first, "a duplicate names the first, not {id}");
            }
        }
        assert_eq!(
            bench.lease_many("billing", 100).await.len(),
            1,
            "one event makes one delivery"
        );
    }
}

/// A caller that gets "seen" can rely on it: the first event is already stored.
pub async fn a_copy_is_seen_only_once_the_first_can_be_found(bench: &mut Bench) {
    let mut tasks = Vec::new();
    for _ in 0..DUPLICATES {
        let event = bench.event("evt_1").build();
        let store = Arc::clone(&bench.store);
        tasks.push(tokio::spawn(async move {
            let claim = accept(&store, vec![event]).await.remove(0);
            if let Claim::Seen(entry) = claim {
                assert!(store.get(entry.id).await.must().is_some(), "the first is stored");
            }
        }));
    }
    for task in tasks {
        task.await.must();
    }
}

/// Duplicates that meet in one batch of requests.
pub async fn of_duplicates_in_one_batch_exactly_one_is_new(bench: &mut Bench) {
    let events: Vec<NewEvent> = (0..DUPLICATES).map(|_| bench.event("evt_1").build()).collect();
    let ids: Vec<EventId> = events.iter().map(|event| event.id).collect();
    let requests = events
        .into_iter()
        .map(|event| AcceptRequest { events: vec![event] })
        .collect();
    let answers = bench.store.accept(requests).await;
    let claims: Vec<_> = ids
        .into_iter()
        .zip(answers)
        .map(|(id, answer)| (id, answer.must().remove(0)))
        .collect();
    let first = the_only_new(&claims);
    assert_eq!(bench.look_up("evt_1").await.must().id, first);
}

/// Duplicates that meet in one request.
pub async fn of_duplicates_in_one_request_exactly_one_is_new(bench: &mut Bench) {
    let drafts: Vec<Draft> = (0..3).map(|_| bench.event("evt_1").to("billing")).collect();
    let claims = bench.accept_together(drafts).await;
    let new = claims.iter().filter(|claim| matches!(claim, Claim::New { .. }));
    assert_eq!(new.count(), 1);
    assert_eq!(bench.lease_many("billing", 100).await.len(), 1);
}

/// Two batches with the same identities in opposite order must neither deadlock nor both win.
pub async fn batches_in_opposite_order_neither_deadlock_nor_both_win(bench: &mut Bench) {
    for round in 0..10 {
        let names: Vec<String> = (0..IDENTITIES).map(|n| format!("evt_{round}_{n}")).collect();
        let forward: Vec<_> = names.iter().map(|name| bench.event(name).build()).collect();
        let backward: Vec<_> = names.iter().rev().map(|name| bench.event(name).build()).collect();
        let claims = accept_at_once(&bench.store, vec![forward, backward]).await;
        let new = claims
            .iter()
            .filter(|(_, claim)| matches!(claim, Claim::New { .. }));
        assert_eq!(new.count(), IDENTITIES, "each identity is new exactly once");
    }
}

/// Batches of requests with several events each, which partly overlap.
pub async fn overlapping_requests_store_each_identity_once(bench: &mut Bench) {
    let mut requests = Vec::new();
    for start in 0..8 {
        let request: Vec<_> = (start..start + 5)
            .map(|n| bench.event(&format!("evt_{n}")).to("billing").build())
            .collect();
        requests.push(request);
    }
    let claims = accept_at_once(&bench.store, requests).await;
    let new = claims
        .iter()
        .filter(|(_, claim)| matches!(claim, Claim::New { .. }));
    assert_eq!(new.count(), 12);
    assert_eq!(bench.lease_many("billing", 100).await.len(), 12);
}

/// Accepts each request in its own task. Returns every claim with the id it was for.
async fn accept_at_once(store: &Arc<dyn Backend>, requests: Vec<Vec<NewEvent>>) -> Vec<(EventId, Claim)> {
    let gate = Arc::new(tokio::sync::Barrier::new(requests.len()));
    let mut tasks = Vec::new();
    for events in requests {
        let store = Arc::clone(store);
        let gate = Arc::clone(&gate);
        tasks.push(tokio::spawn(async move {
            let ids: Vec<EventId> = events.iter().map(|event| event.id).collect();
            gate.wait().await;
            let claims = accept(&store, events).await;
            ids.into_iter().zip(claims).collect::<Vec<_>>()
        }));
    }
    let mut claims = Vec::new();
    for task in tasks {
        claims.extend(task.await.must());
    }
    claims
}

async fn accept(store: &Arc<dyn Backend>, events: Vec<NewEvent>) -> Vec<Claim> {
    store
        .accept(vec![AcceptRequest { events }])
        .await
        .remove(0)
        .must()
}

fn the_only_new(claims: &[(EventId, Claim)]) -> EventId {
    let new: Vec<EventId> = claims
        .iter()
        .filter(|(_, claim)| matches!(claim, Claim::New { .. }))
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(new.len(), 1, "exactly one request is new");
    new[0]
}

//! Uniqueness: of all copies of one identity, exactly one is the first.

use std::sync::Arc;

use hapax_core::store::{AcceptRequest, Claim, LedgerEntry};
use hapax_core::{Backend, EventId, Generation, NewEvent, Verdict};

use crate::Bench;
use crate::bench::{Draft, Must};

const COPIES: usize = 24;
const IDENTITIES: usize = 12;

/// Many tasks accept the same identity at once.
pub async fn of_many_concurrent_copies_exactly_one_is_new(bench: &mut Bench) {
    for round in 0..4 {
        let copies: Vec<_> = (0..COPIES)
            .map(|_| vec![bench.event(&format!("evt_{round}")).to("billing").build()])
            .collect();
        let claims = accept_at_once(&bench.store, copies).await;
        let first = the_only_new(&claims);
        for (id, claim) in &claims {
            if let Claim::Seen(entry) = claim {
                assert_eq!(entry.id, first, "a copy names the first, not {id}");
            }
        }
        assert_eq!(bench.lease_many("billing", 100).await.len(), 1, "one event makes one delivery");
    }
}

/// Whoever is told "seen" can rely on it: the first is there already.
pub async fn a_copy_is_seen_only_once_the_first_can_be_found(bench: &mut Bench) {
    let mut tasks = Vec::new();
    for _ in 0..COPIES {
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

/// Copies that meet in one batch of requests.
pub async fn of_copies_in_one_batch_exactly_one_is_new(bench: &mut Bench) {
    let events: Vec<NewEvent> = (0..COPIES).map(|_| bench.event("evt_1").build()).collect();
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

/// Copies that meet in one request.
pub async fn of_copies_in_one_request_exactly_one_is_new(bench: &mut Bench) {
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

/// Batches of requests, each request of several events, that overlap in part.
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

/// What a copy is told: the first one's id, hashes and time.
pub async fn a_copy_is_told_what_the_first_was(bench: &mut Bench) {
    let first = bench
        .event("evt_1")
        .body("first")
        .content_hash("without retry_count", b"content")
        .build();
    let before = bench.now().await;
    let claim = bench.accept(Draft::from(first.clone())).await;
    let after = bench.now().await;
    assert_eq!(
        claim,
        Claim::New {
            generation: Generation(0),
            tokens: Vec::new()
        }
    );
    bench.tick().await;
    let Claim::Seen(entry) = bench.accept(bench.event("evt_1").body("second")).await else {
        panic!("a copy is seen");
    };
    assert!(before <= entry.first_seen && entry.first_seen <= after, "first_seen is the store's time");
    let expected = LedgerEntry {
        id: first.id,
        generation: Generation(0),
        first_seen: entry.first_seen,
        expires_at: first.ledger_until,
        raw_hash: first.raw_hash,
        content_hash: first.content_hash,
    };
    assert_eq!(entry, expected);
    assert_eq!(bench.look_up("evt_1").await, Some(entry));
    assert_eq!(bench.record(first.id).await.event.body, "first", "the first body is kept");
}

/// After an error the caller sends the same request again: it finds itself.
pub async fn the_same_write_again_finds_its_own_id(bench: &mut Bench) {
    let event = bench.event("evt_1").to("billing").build();
    bench.accept(Draft::from(event.clone())).await;
    let Claim::Seen(entry) = bench.accept(Draft::from(event.clone())).await else {
        panic!("the second write of one event is seen");
    };
    assert_eq!(entry.id, event.id);
    assert_eq!(bench.lease_many("billing", 10).await.len(), 1, "no second delivery");
}

/// An id is unique in its scope only.
pub async fn one_id_in_two_scopes_is_two_events(bench: &mut Bench) {
    let first = bench.stored(bench.event_in("shop", "evt_1")).await;
    let second = bench.stored(bench.event_in("bank", "evt_1")).await;
    assert_ne!(first, second);
    assert_eq!(bench.record(second).await.event.identity.scope.as_str(), "bank");
    let Claim::Seen(entry) = bench.accept(bench.event_in("bank", "evt_1")).await else {
        panic!("a copy in the second scope is seen");
    };
    assert_eq!(entry.id, second);
}

/// Two sources that share a scope share its ids.
pub async fn two_sources_of_one_scope_share_their_ids(bench: &mut Bench) {
    let first = bench.stored(bench.event("evt_1").from_source("europe")).await;
    let Claim::Seen(entry) = bench.accept(bench.event("evt_1").from_source("asia")).await else {
        panic!("the scope decides, not the source");
    };
    assert_eq!(entry.id, first);
}

/// Case, normal forms, white space and control characters make different ids; each comes back as it was.
pub async fn ids_compare_as_bytes(bench: &mut Bench) {
    let long = "x".repeat(255);
    let longer_by_case = format!("{}X", "x".repeat(254));
    let ids = [
        "evt_a", "evt_A", "EVT_A", "evt_a ", " evt_a", "evt_a\t", "evt_a\n", "evt_\u{1}a", "évt", "e\u{301}vt",
        "ﬁ", "fi", "ß", "ss", "İ", "i", "%", "_", "evt%", "evt_", "'; drop table ledger; --", "\"", "\\", "\u{1F600}",
        "0", "00", "1", "1.0", "a:b", "a%3Ab", &long, &longer_by_case,
    ];
    let mut stored = Vec::new();
    for event_id in ids {
        stored.push((event_id, bench.stored(bench.event(event_id)).await));
    }
    for (event_id, id) in stored {
        assert_eq!(bench.look_up(event_id).await.must().id, id, "{event_id:?}");
        assert_eq!(bench.record(id).await.event.identity.event_id, event_id);
        assert!(matches!(bench.accept(bench.event(event_id)).await, Claim::Seen(_)));
    }
}

/// The ledger dedupes whatever became of the event.
pub async fn a_finished_event_still_dedupes(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.run("billing", Verdict::Completed).await;
    let Claim::Seen(entry) = bench.accept(bench.event("evt_1").to("billing")).await else {
        panic!("a completed event's copy is seen");
    };
    assert_eq!(entry.id, id);
    assert!(bench.lease("billing").await.is_none());
}

/// The ledger knows only what was accepted.
pub async fn an_unknown_identity_is_not_found(bench: &mut Bench) {
    assert_eq!(bench.look_up("evt_1").await, None);
    assert!(bench.store.get(bench.id()).await.must().is_none());
}

/// Accepts each request in a task of its own; every claim with the id it was for.
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
    store.accept(vec![AcceptRequest { events }]).await.remove(0).must()
}

fn the_only_new(claims: &[(EventId, Claim)]) -> EventId {
    let new: Vec<EventId> = claims
        .iter()
        .filter(|(_, claim)| matches!(claim, Claim::New { .. }))
        .map(|(id, _)| *id)
        .collect();
    assert_eq!(new.len(), 1, "exactly one copy is new");
    new[0]
}

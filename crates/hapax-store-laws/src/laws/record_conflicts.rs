//! Conflicts: other bodies under a known identity are stored, up to a limit, and can be released.

use bytes::Bytes;
use hapax_core::store::{CONFLICTS_MAX, ConflictRecorded, ConflictingBody};
use hapax_core::{BodyHash, EventId, Headers, NewEvent};

use crate::Bench;
use crate::bench::{Draft, Must};
use crate::clock::START;

/// Stored once, then counted; shown with the event.
pub async fn a_conflicting_body_is_kept_once_and_then_counted(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    let one = other_body(&first, "one");
    let two = other_body(&first, "two");
    let said = bench.record_conflicts(vec![one.clone(), two, one.clone()]).await;
    assert_eq!(
        said,
        [
            ConflictRecorded::Kept,
            ConflictRecorded::Kept,
            ConflictRecorded::Again
        ]
    );
    let again = ConflictingBody {
        received_at: START.plus(std::time::Duration::from_secs(9)),
        ..one.clone()
    };
    assert_eq!(
        bench.record_conflicts(vec![again]).await,
        [ConflictRecorded::Again]
    );
    let conflicts = bench.record(first.id).await.conflicts;
    assert_eq!(conflicts.len(), 2);
    let shown = conflicts.iter().find(|view| view.raw_hash == one.raw_hash).must();
    assert_eq!((shown.seen, shown.body_bytes, shown.released_as), (3, 3, None));
    assert_eq!(shown.received_at, one.received_at, "when it came first");
    assert_eq!(
        bench.record(first.id).await.event.body,
        first.body,
        "the first is what counts"
    );
}

/// A misbehaving provider cannot fill the store.
pub async fn at_most_so_many_conflicting_bodies_are_kept(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    for n in 0..CONFLICTS_MAX {
        let said = bench
            .record_conflicts(vec![other_body(&first, &format!("body {n}"))])
            .await;
        assert_eq!(said, [ConflictRecorded::Kept]);
    }
    let surplus = other_body(&first, "one too many");
    let known = other_body(&first, "body 0");
    let said = bench.record_conflicts(vec![surplus.clone(), known]).await;
    assert_eq!(said, [ConflictRecorded::Full, ConflictRecorded::Again]);
    assert_eq!(bench.record(first.id).await.conflicts.len(), CONFLICTS_MAX);
    assert!(
        bench
            .store
            .conflict(first.id, surplus.raw_hash)
            .await
            .must()
            .is_none()
    );
}

/// The limit applies to each identity.
pub async fn conflicting_bodies_of_two_identities_are_kept_apart(bench: &mut Bench) {
    let crowded = first(bench, "crowded").await;
    let other = first(bench, "other").await;
    for n in 0..CONFLICTS_MAX {
        bench
            .record_conflicts(vec![other_body(&crowded, &format!("body {n}"))])
            .await;
    }
    let said = bench.record_conflicts(vec![other_body(&other, "body 0")]).await;
    assert_eq!(said, [ConflictRecorded::Kept]);
    assert_eq!(bench.record(other.id).await.conflicts.len(), 1);
    let missing = other_body(&other, "body 1").raw_hash;
    assert!(bench.store.conflict(other.id, missing).await.must().is_none());
}

/// A provider that changes its body on every retry: many bodies of one identity in one call.
pub async fn many_conflicting_bodies_of_one_identity_in_one_call_keep_the_limit(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    let body = |n: usize| other_body(&first, &format!("body {n}"));
    let mut other_bodies: Vec<ConflictingBody> = (0..CONFLICTS_MAX + 4).map(body).collect();
    other_bodies.extend([body(0), body(CONFLICTS_MAX), body(1), body(0)]);
    let mut expected = vec![ConflictRecorded::Kept; CONFLICTS_MAX];
    expected.extend([ConflictRecorded::Full; 4]);
    let (again, full) = (ConflictRecorded::Again, ConflictRecorded::Full);
    expected.extend([again, full, again, again]);
    assert_eq!(bench.record_conflicts(other_bodies).await, expected);
    bench.reopen().await;
    let conflicts = bench.record(first.id).await.conflicts;
    let seen = |n: usize| {
        let shown = conflicts.iter().find(|view| view.raw_hash == body(n).raw_hash);
        shown.map(|view| view.seen)
    };
    assert_eq!(conflicts.len(), CONFLICTS_MAX);
    assert_eq!(
        (seen(0), seen(1), seen(2), seen(8)),
        (Some(3), Some(2), Some(1), None)
    );
}

/// Many identities in one call, each twice with the same body and once with another.
pub async fn conflicting_bodies_of_many_identities_in_one_call_are_answered_in_order(bench: &mut Bench) {
    let mut events = Vec::new();
    for n in 0..60 {
        events.push(first(bench, &format!("evt_{n}")).await);
    }
    let known: Vec<ConflictingBody> = events
        .iter()
        .step_by(3)
        .map(|event| other_body(event, "one"))
        .collect();
    assert!(
        bench
            .record_conflicts(known)
            .await
            .iter()
            .all(|said| *said == ConflictRecorded::Kept)
    );
    // Interleaved, so that the bodies of one identity are far apart.
    let other_bodies =
        ["one", "other", "one"].map(|body| events.iter().map(move |event| other_body(event, body)));
    let said = bench
        .record_conflicts(other_bodies.into_iter().flatten().collect())
        .await;
    for n in 0..events.len() {
        let was_known = n % 3 == 0;
        let one = if was_known {
            ConflictRecorded::Again
        } else {
            ConflictRecorded::Kept
        };
        let found = [said[n], said[n + events.len()], said[n + 2 * events.len()]];
        assert_eq!(
            found,
            [one, ConflictRecorded::Kept, ConflictRecorded::Again],
            "evt_{n}"
        );
        let conflicts = bench.record(events[n].id).await.conflicts;
        let mut seen: Vec<u64> = conflicts.iter().map(|view| view.seen).collect();
        seen.sort_unstable();
        assert_eq!(seen, [1, if was_known { 3 } else { 2 }], "evt_{n}");
    }
}

/// Concurrent calls with bodies of the same identity: no more than the limit are stored, and each answer is true.
pub async fn conflicting_bodies_of_one_identity_that_come_at_once_keep_the_limit(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    let mut calls = tokio::task::JoinSet::new();
    for caller in 0..6 {
        let other_bodies: Vec<ConflictingBody> = (0..3)
            .map(|n| other_body(&first, &format!("body {caller} {n}")))
            .collect();
        let store = std::sync::Arc::clone(&bench.store);
        calls.spawn(async move { store.record_conflicts(other_bodies).await });
    }
    let said: Vec<ConflictRecorded> = calls
        .join_all()
        .await
        .into_iter()
        .flatten()
        .map(Must::must)
        .collect();
    let count = |wanted| said.iter().filter(|answer| **answer == wanted).count();
    assert_eq!(count(ConflictRecorded::Kept), CONFLICTS_MAX);
    assert_eq!(count(ConflictRecorded::Full), 18 - CONFLICTS_MAX);
    assert_eq!(bench.record(first.id).await.conflicts.len(), CONFLICTS_MAX);
}

/// A conflict that cannot be stored does not fail its neighbours. In every store, one whose event cannot belong to its
/// identity is such a conflict.
pub async fn a_conflicting_body_that_cannot_be_kept_fails_alone(bench: &mut Bench) {
    let one = first(bench, "evt_1").await;
    let mut other = first(bench, "evt_2").await;
    for n in 3.. {
        if other.key.bucket() != one.key.bucket() {
            break;
        }
        other = first(bench, &format!("evt_{n}")).await;
    }
    let stray = ConflictingBody {
        first: other.id,
        ..other_body(&one, "stray")
    };
    let other_bodies = vec![other_body(&one, "before"), stray, other_body(&other, "after")];
    let mut said = bench.store.record_conflicts(other_bodies).await;
    assert_eq!(said.len(), 3);
    assert_eq!(said.remove(2).must(), ConflictRecorded::Kept);
    let Err(error) = said.remove(1) else {
        panic!("it is of no identity");
    };
    assert!(!error.is_retryable(), "this item can never be stored");
    assert_eq!(said.remove(0).must(), ConflictRecorded::Kept);
    assert_eq!(bench.record(one.id).await.conflicts.len(), 1);
    assert_eq!(bench.record(other.id).await.conflicts.len(), 1);
}

/// A released body is marked with the event that it became.
pub async fn a_released_conflicting_body_is_marked(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    let other = other_body(&first, "other");
    bench.record_conflicts(vec![other.clone()]).await;
    let released: EventId = bench.stored(bench.event("evt_1#released").body("other")).await;
    bench
        .store
        .mark_released(first.id, other.raw_hash, released)
        .await
        .must();
    bench.reopen().await;
    let conflicts = bench.record(first.id).await.conflicts;
    assert_eq!(conflicts[0].released_as, Some(released));
    assert!(
        bench
            .store
            .conflict(first.id, other.raw_hash)
            .await
            .must()
            .is_some(),
        "it can be read"
    );
}

async fn first(bench: &Bench, event_id: &str) -> NewEvent {
    let event = bench.event(event_id).body("first").build();
    bench.stored(Draft::from(event.clone())).await;
    event
}

fn other_body(first: &NewEvent, body: &str) -> ConflictingBody {
    ConflictingBody {
        key: first.key,
        first: first.id,
        source: first.source.clone(),
        raw_hash: BodyHash::of(body.as_bytes()),
        received_at: START,
        headers: Headers::default(),
        body: Bytes::from(body.to_owned()),
    }
}

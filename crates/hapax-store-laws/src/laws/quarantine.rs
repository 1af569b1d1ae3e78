//! Quarantine: other bodies under a known identity are kept, a few, and can be released.

use bytes::Bytes;
use hapax_core::store::{CONFLICTS_MAX, Quarantined, Variant};
use hapax_core::{BodyHash, EventId, Headers, NewEvent};

use crate::Bench;
use crate::bench::{Draft, Must};
use crate::clock::START;

/// Kept once, counted after; shown with the event.
pub async fn a_variant_is_kept_once_and_then_counted(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    let one = variant(&first, "one");
    let two = variant(&first, "two");
    let said = bench
        .store
        .quarantine(vec![one.clone(), two, one.clone()])
        .await
        .must();
    assert_eq!(said, [Quarantined::Kept, Quarantined::Kept, Quarantined::Again]);
    let again = Variant {
        received_at: START.plus(std::time::Duration::from_secs(9)),
        ..one.clone()
    };
    assert_eq!(
        bench.store.quarantine(vec![again]).await.must(),
        [Quarantined::Again]
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

/// A sender gone wild cannot fill the store.
pub async fn at_most_so_many_variants_are_kept(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    for n in 0..CONFLICTS_MAX {
        let said = bench
            .store
            .quarantine(vec![variant(&first, &format!("body {n}"))])
            .await
            .must();
        assert_eq!(said, [Quarantined::Kept]);
    }
    let surplus = variant(&first, "one too many");
    let known = variant(&first, "body 0");
    let said = bench.store.quarantine(vec![surplus.clone(), known]).await.must();
    assert_eq!(said, [Quarantined::Full, Quarantined::Again]);
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

/// The limit is for each identity.
pub async fn variants_of_two_identities_are_kept_apart(bench: &mut Bench) {
    let crowded = first(bench, "crowded").await;
    let other = first(bench, "other").await;
    for n in 0..CONFLICTS_MAX {
        bench
            .store
            .quarantine(vec![variant(&crowded, &format!("body {n}"))])
            .await
            .must();
    }
    let said = bench
        .store
        .quarantine(vec![variant(&other, "body 0")])
        .await
        .must();
    assert_eq!(said, [Quarantined::Kept]);
    assert_eq!(bench.record(other.id).await.conflicts.len(), 1);
    let missing = variant(&other, "body 1").raw_hash;
    assert!(bench.store.conflict(other.id, missing).await.must().is_none());
}

/// Released is marked, with the event that it became.
pub async fn a_released_variant_is_marked(bench: &mut Bench) {
    let first = first(bench, "evt_1").await;
    let other = variant(&first, "other");
    bench.store.quarantine(vec![other.clone()]).await.must();
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
        "it can be looked at"
    );
}

async fn first(bench: &Bench, event_id: &str) -> NewEvent {
    let event = bench.event(event_id).body("first").build();
    bench.stored(Draft::from(event.clone())).await;
    event
}

fn variant(first: &NewEvent, body: &str) -> Variant {
    Variant {
        key: first.key,
        first: first.id,
        source: first.source.clone(),
        raw_hash: BodyHash::of(body.as_bytes()),
        received_at: START,
        headers: Headers::default(),
        body: Bytes::from(body.to_owned()),
    }
}

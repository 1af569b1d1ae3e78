//! Identities: what makes an event the same one, and what a duplicate learns about the first.

use hapax_core::store::{Claim, LedgerEntry};
use hapax_core::{AttemptOutcome, BodyHash, Generation, Identity};

use crate::Bench;
use crate::bench::{Draft, Must};

/// A duplicate gets the first event's id, hashes and time.
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
        panic!("a duplicate is seen");
    };
    assert!(
        before <= entry.first_seen && entry.first_seen <= after,
        "first_seen is the store's time"
    );
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
    assert_eq!(
        bench.record(first.id).await.event.body,
        "first",
        "the first body is kept"
    );
}

/// After an error the caller sends the same request again, and finds its own event.
pub async fn the_same_write_again_finds_its_own_id(bench: &mut Bench) {
    let event = bench.event("evt_1").to("billing").build();
    bench.accept(Draft::from(event.clone())).await;
    let Claim::Seen(entry) = bench.accept(Draft::from(event.clone())).await else {
        panic!("the second write of one event is seen");
    };
    assert_eq!(entry.id, event.id);
    assert_eq!(
        bench.lease_many("billing", 10).await.len(),
        1,
        "no second delivery"
    );
}

/// An id is unique only within its scope.
pub async fn one_id_in_two_scopes_is_two_events(bench: &mut Bench) {
    let first = bench.stored(bench.event_in("shop", "evt_1")).await;
    let second = bench.stored(bench.event_in("bank", "evt_1")).await;
    assert_ne!(first, second);
    assert_eq!(bench.record(second).await.event.identity.scope.as_str(), "bank");
    let Claim::Seen(entry) = bench.accept(bench.event_in("bank", "evt_1")).await else {
        panic!("a duplicate in the second scope is seen");
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

/// Case, normal forms, white space and control characters make different ids; each is returned unchanged.
pub async fn ids_compare_as_bytes(bench: &mut Bench) {
    let long = "x".repeat(255);
    let longer_by_case = format!("{}X", "x".repeat(254));
    let conflict = Identity::new("shop", "evt_a").of_conflict(&BodyHash::of(b"other"));
    let long_conflict = Identity::new("shop", long.as_str()).of_conflict(&BodyHash::of(b"other"));
    let ids = [
        "evt_a",
        "evt_A",
        "EVT_A",
        "evt_a ",
        " evt_a",
        "evt_a\t",
        "evt_a\n",
        "evt_\u{1}a",
        "évt",
        "e\u{301}vt",
        "ﬁ",
        "fi",
        "ß",
        "ss",
        "İ",
        "i",
        "%",
        "_",
        "evt%",
        "evt_",
        "'; drop table ledger; --",
        "\"",
        "\\",
        "\u{1F600}",
        "0",
        "00",
        "1",
        "1.0",
        "a:b",
        "a%3Ab",
        &long,
        &longer_by_case,
        &conflict.event_id,
        &long_conflict.event_id,
    ];
    let mut stored = Vec::new();
    for event_id in ids {
        stored.push((event_id, bench.stored(bench.event(event_id)).await));
    }
    for (event_id, id) in stored {
        assert_eq!(bench.look_up(event_id).await.must().id, id, "{event_id:?}");
        assert_eq!(bench.record(id).await.event.identity.event_id, event_id);
        assert!(matches!(
            bench.accept(bench.event(event_id)).await,
            Claim::Seen(_)
        ));
    }
}

/// The ledger deduplicates whatever happened to the event.
pub async fn a_finished_event_still_dedupes(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    bench.run("billing", AttemptOutcome::Completed).await;
    let Claim::Seen(entry) = bench.accept(bench.event("evt_1").to("billing")).await else {
        panic!("a completed event's duplicate is seen");
    };
    assert_eq!(entry.id, id);
    assert!(bench.lease("billing").await.is_none());
}

/// The ledger knows only accepted identities.
pub async fn an_unknown_identity_is_not_found(bench: &mut Bench) {
    assert_eq!(bench.look_up("evt_1").await, None);
    assert!(bench.store.get(bench.id()).await.must().is_none());
}

//! Tallies: duplicates and same bodies, gathered off the hot path.

use std::time::Duration;

use hapax_core::store::{
    BodyNote, DuplicateNote, DuplicateTally, EventQuery, GAPS_MAX, PurgeOrder, PurgeWindow,
};
use hapax_core::{BodyHash, Identity};

use crate::Bench;
use crate::bench::Must;
use crate::clock::START;

/// Duplicates add up; the last time is the latest; the newest gaps are kept.
pub async fn duplicates_add_up(bench: &mut Bench) {
    let event = bench.event("evt_1").build();
    let other = bench.event("evt_2").build();
    bench.stored(event.clone().into()).await;
    bench.stored(other.clone().into()).await;
    assert_eq!(bench.record(event.id).await.duplicates, None);
    let later = START.plus(Duration::from_secs(5));
    let note = |count, last_at, gaps_ms: &[u64]| DuplicateNote {
        key: event.key,
        count,
        last_at,
        gaps_ms: gaps_ms.to_vec(),
    };
    bench
        .store
        .note_duplicates(vec![note(2, START, &[10, 20])])
        .await
        .must();
    bench
        .store
        .note_duplicates(vec![note(1, later, &[5000]), note(1, START, &[30])])
        .await
        .must();
    let expected = DuplicateTally {
        count: 4,
        last_at: later,
        gaps_ms: vec![10, 20, 5000, 30],
    };
    bench.reopen().await;
    assert_eq!(bench.record(event.id).await.duplicates, Some(expected));
    assert_eq!(bench.record(other.id).await.duplicates, None);
}

/// A list shows duplicates, and the ledger knows them even when the payload is gone.
pub async fn duplicates_are_listed_and_outlive_the_payload(bench: &mut Bench) {
    let event = bench.event("evt_1").build();
    bench.stored(event.clone().into()).await;
    bench.stored(bench.event("evt_2")).await;
    let note = DuplicateNote {
        key: event.key,
        count: 3,
        last_at: START,
        gaps_ms: vec![10],
    };
    bench.store.note_duplicates(vec![note]).await.must();
    let listed = bench.list(&EventQuery::default(), 10).await;
    let duplicates: Vec<u64> = listed.iter().map(|summary| summary.duplicates).collect();
    assert_eq!(duplicates, [0, 3]);
    let window = PurgeWindow {
        source: "shop".into(),
        payload_before: START.plus(Duration::from_secs(1)),
        dead_before: START,
    };
    let order = PurgeOrder {
        windows: vec![window],
        ledger_before: START,
        limit: 10,
    };
    assert_eq!(bench.purge(&order).await.events, 2);
    let expected = DuplicateTally {
        count: 3,
        last_at: START,
        gaps_ms: vec![10],
    };
    assert_eq!(
        bench.store.duplicates(&event.identity).await.must(),
        Some(expected)
    );
    let other = Identity::new("shop", "evt_2");
    assert_eq!(bench.store.duplicates(&other).await.must(), None);
}

/// Only the newest gaps are kept.
pub async fn only_the_newest_gaps_are_kept(bench: &mut Bench) {
    let event = bench.event("evt_1").build();
    bench.stored(event.clone().into()).await;
    for batch in 0..3_u64 {
        let note = DuplicateNote {
            key: event.key,
            count: 15,
            last_at: START,
            gaps_ms: (batch * 15..(batch + 1) * 15).collect(),
        };
        bench.store.note_duplicates(vec![note]).await.must();
    }
    let tally = bench.record(event.id).await.duplicates.must();
    assert_eq!(tally.count, 45);
    let newest: Vec<u64> = (45 - GAPS_MAX as u64..45).collect();
    assert_eq!(tally.gaps_ms, newest);
}

/// Another id, the same body: the later event is flagged with the earlier one.
pub async fn an_event_with_an_earlier_events_body_is_flagged(bench: &mut Bench) {
    let one = bench.stored(bench.event("one").body("same")).await;
    let two = bench.stored(bench.event("two").body("same")).await;
    let alone = bench.stored(bench.event("alone").body("unlike")).await;
    let elsewhere = bench.stored(bench.event_in("bank", "one").body("same")).await;
    let note = |scope: &str, id, body: &str| BodyNote {
        scope: scope.into(),
        raw_hash: BodyHash::of(body.as_bytes()),
        id,
        until: START.plus(Duration::from_secs(86_400)),
    };
    bench
        .store
        .note_bodies(vec![note("shop", one, "same")])
        .await
        .must();
    bench
        .store
        .note_bodies(vec![note("shop", one, "same")])
        .await
        .must();
    let rest = vec![
        note("shop", two, "same"),
        note("shop", alone, "unlike"),
        note("bank", elsewhere, "same"),
    ];
    bench.store.note_bodies(rest).await.must();
    assert_eq!(
        bench.record(one).await.same_body_as,
        None,
        "the first is not flagged"
    );
    assert_eq!(bench.record(two).await.same_body_as, Some(one));
    assert_eq!(bench.record(alone).await.same_body_as, None);
    assert_eq!(
        bench.record(elsewhere).await.same_body_as,
        None,
        "scopes are apart"
    );
}

/// Two that meet in one call: the second is flagged.
pub async fn same_bodies_in_one_call_are_flagged(bench: &mut Bench) {
    let one = bench.stored(bench.event("one").body("same")).await;
    let two = bench.stored(bench.event("two").body("same")).await;
    let notes = [one, two].map(|id| BodyNote {
        scope: "shop".into(),
        raw_hash: BodyHash::of(b"same"),
        id,
        until: START.plus(Duration::from_secs(86_400)),
    });
    bench.store.note_bodies(notes.to_vec()).await.must();
    assert_eq!(bench.record(one).await.same_body_as, None);
    assert_eq!(bench.record(two).await.same_body_as, Some(one));
}

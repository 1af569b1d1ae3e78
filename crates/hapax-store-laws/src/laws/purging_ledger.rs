//! Purge, second half: the ledger is deleted after the payload, in small portions, and nothing is left behind.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::store::{Claim, ConflictingBody, DuplicateNote, Forgotten, PurgeOrder, ReplayMode, Replayed};
use hapax_core::{AttemptOutcome, BodyHash, Generation, Headers, Identity, Timestamp};

use super::purging::{FAR, everything, window};
use crate::Bench;
use crate::bench::{Must, again, dead};
use crate::clock::START;

/// The ledger still knows an event whose payload window has ended.
pub async fn the_ledger_dedupes_after_the_payload_is_gone(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    let purged = bench.purge(&payloads_only()).await;
    assert_eq!((purged.events, purged.ledger), (1, 0));
    assert!(bench.store.get(id).await.must().is_none());
    assert!(
        bench
            .list(&hapax_core::store::EventQuery::default(), 10)
            .await
            .is_empty()
    );
    assert_eq!(bench.look_up("evt_1").await.must().id, id);
    let Claim::Seen(entry) = bench.accept(bench.event("evt_1").to("billing")).await else {
        panic!("the ledger entry still stands");
    };
    assert_eq!(entry.id, id);
    assert!(bench.lease("billing").await.is_none());
    assert_eq!(bench.replay(id, ReplayMode::All).await, Replayed::NotFound);
}

/// However old a ledger entry is, its event is deleted first.
pub async fn a_ledger_entry_goes_only_after_its_event(bench: &mut Bench) {
    bench.stored(bench.event("evt_1")).await;
    let order = PurgeOrder {
        windows: Vec::new(),
        ledger_before: START.plus(FAR),
        limit: 100,
    };
    assert_eq!(bench.purge(&order).await.ledger, 0);
    assert!(matches!(bench.accept(bench.event("evt_1")).await, Claim::Seen(_)));
    let purged = bench.purge(&everything(bench).await).await;
    assert_eq!((purged.events, purged.ledger), (1, 1));
    assert_eq!(bench.look_up("evt_1").await, None);
}

/// A ledger entry stays until it has expired, and deduplicates until it is purged.
pub async fn a_ledger_entry_goes_only_after_it_has_expired(bench: &mut Bench) {
    let expires_at = bench.now().await;
    bench
        .stored(bench.event("evt_1").with(|event| event.ledger_until = expires_at))
        .await;
    bench.tick().await;
    assert!(
        matches!(bench.accept(bench.event("evt_1")).await, Claim::Seen(_)),
        "not purged yet"
    );
    let mut order = everything(bench).await;
    order.ledger_before = expires_at.minus(Duration::from_secs(1));
    let purged = bench.purge(&order).await;
    assert_eq!((purged.events, purged.ledger), (1, 0));
    assert!(matches!(bench.accept(bench.event("evt_1")).await, Claim::Seen(_)));
    order.ledger_before = expires_at.plus(Duration::from_secs(1));
    assert_eq!(bench.purge(&order).await.ledger, 1);
    assert!(matches!(
        bench.accept(bench.event("evt_1")).await,
        Claim::New { .. }
    ));
}

/// In small portions, so that no accept waits long, and to the end.
pub async fn a_purge_takes_small_bites_and_says_when_there_is_more(bench: &mut Bench) {
    for n in 0..20 {
        bench.stored(bench.event(&format!("evt_{n}"))).await;
    }
    let order = PurgeOrder {
        limit: 4,
        ..everything(bench).await
    };
    let bite = bench.store.purge(order.clone()).await.must();
    assert!(bite.events + bite.ledger >= 1, "it makes progress");
    assert!(bite.events + bite.ledger <= 8, "at most about the limit");
    assert!(bite.more);
    let rest = bench.purge(&order).await;
    assert_eq!((bite.events + rest.events, bite.ledger + rest.ledger), (20, 20));
    assert!(!bench.store.purge(order).await.must().more);
    let counts = bench.store.counts().await.must();
    assert_eq!(counts.events, 0);
    assert_eq!(counts.ledger.iter().map(|row| row.entries).sum::<u64>(), 0);
}

/// If payloads expire as fast as they are deleted, the ledger must not grow because of it.
pub async fn the_ledger_goes_while_payloads_are_behind(bench: &mut Bench) {
    for n in 0..40 {
        bench.stored(bench.event(&format!("gone_{n}"))).await;
    }
    assert_eq!(bench.purge(&payloads_only()).await.events, 40);
    for n in 0..40 {
        bench.stored(bench.event(&format!("behind_{n}"))).await;
    }
    let order = PurgeOrder {
        limit: 16,
        ..everything(bench).await
    };
    let bite = bench.store.purge(order).await.must();
    assert!(bite.events > 0 && bite.ledger > 0, "{bite:?}");
    assert!(bite.more);
}

/// Nothing of a purged identity is there when it arrives again.
pub async fn a_purge_leaves_nothing_behind(bench: &mut Bench) {
    let event = bench.event("evt_1").to("billing").to("ledger").build();
    bench.stored(event.clone().into()).await;
    bench.run("billing", again()).await;
    bench.run("billing", dead()).await;
    bench.run("ledger", AttemptOutcome::Completed).await;
    let note = DuplicateNote {
        key: event.key,
        count: 3,
        last_at: START,
        gaps_ms: vec![1, 2, 3],
    };
    bench.store.note_duplicates(vec![note]).await.must();
    let body = Bytes::from_static(b"other");
    let other_body = ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source.clone(),
        raw_hash: BodyHash::of(&body),
        received_at: START,
        headers: Headers::default(),
        body,
    };
    bench.record_conflicts(vec![other_body.clone()]).await;
    let purged = bench.purge(&everything(bench).await).await;
    assert_eq!((purged.events, purged.ledger), (1, 1));
    assert!(
        bench
            .store
            .conflict(event.id, other_body.raw_hash)
            .await
            .must()
            .is_none()
    );
    let counts = bench.store.counts().await.must();
    assert!(
        counts.backlog.iter().all(|row| row.count == 0),
        "{:?}",
        counts.backlog
    );
    let again = bench.stored(bench.event("evt_1").to("billing")).await;
    let record = bench.record(again).await;
    assert_eq!(record.deliveries.len(), 1);
    assert_eq!(record.attempts, []);
    assert_eq!(record.duplicates.map_or(0, |tally| tally.count), 0);
    assert_eq!(record.conflicts, []);
}

/// A purged identity starts at its first generation again, and a tombstone is deleted like any entry.
pub async fn a_tombstone_is_purged_like_any_entry(bench: &mut Bench) {
    let identity = Identity::new("shop", "evt_1");
    bench.stored(bench.event("evt_1")).await;
    assert!(matches!(
        bench.store.forget(&identity).await.must(),
        Forgotten::Done { .. }
    ));
    let kept = bench.purge(&payloads_only()).await;
    assert_eq!((kept.events, kept.ledger), (1, 0));
    assert_eq!(bench.purge(&everything(bench).await).await.ledger, 1);
    let Claim::New { generation, .. } = bench.accept(bench.event("evt_1")).await else {
        panic!("a purged identity is new");
    };
    assert_eq!(generation, Generation(0));
}

/// While events are purged, others are accepted, and none of those is lost.
pub async fn accepts_go_on_while_a_purge_runs(bench: &mut Bench) {
    for n in 0..40 {
        bench.stored(bench.event(&format!("old_{n}"))).await;
    }
    let order = PurgeOrder {
        limit: 3,
        ..everything(bench).await
    };
    let store = std::sync::Arc::clone(&bench.store);
    let purging = tokio::spawn(async move { while store.purge(order.clone()).await.must().more {} });
    let mut young = Vec::new();
    for n in 0..20 {
        young.push(
            bench
                .stored(bench.event(&format!("young_{n}")).to("billing"))
                .await,
        );
    }
    purging.await.must();
    for id in young {
        bench.record(id).await;
    }
}

fn payloads_only() -> PurgeOrder {
    let far = START.plus(FAR);
    PurgeOrder {
        windows: vec![window("shop", far, far)],
        ledger_before: Timestamp::default(),
        limit: 100,
    }
}

//! Store migration: what one store exports, another imports, completely, once, and in order.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax_core::store::{
    Candidates, Claim, Error, ImportBegun, MigrationCursor, PAGE_BYTES_MAX, Record, ReplayMode, Replayed,
};
use hapax_core::{AttemptOutcome, DeliveryState, Generation, Identity, OnDead};

use super::lanes::line;
use super::store_migration_reads::{self, Looks};
use crate::Bench;
use crate::bench::store_migration::{exported, import};
use crate::bench::{ALL, LONG, Must, again, dead};

/// Every read of the migrated store gives the same result as the original.
pub async fn what_was_copied_looks_the_same(bench: &mut Bench) {
    let filled = store_migration_reads::fill(bench).await;
    let (before, records) = (Looks::at(bench, &filled).await, bench.records().await);
    let census = bench.store.census().await.must();
    bench.copied().await;
    assert_eq!(bench.store.census().await.must().counts(), census.counts());
    assert_eq!(bench.records().await, records);
    assert_eq!(Looks::at(bench, &filled).await, before);
}

/// The same through another kind of store: nothing in a record is specific to one kind.
pub async fn a_copy_by_way_of_another_kind_of_store_looks_the_same(bench: &mut Bench) {
    let filled = store_migration_reads::fill(bench).await;
    let before = Looks::at(bench, &filled).await;
    bench.copied_by_way_of_the_model().await;
    assert_eq!(Looks::at(bench, &filled).await, before);
}

/// Pages of one and pages of many have the same records, in the order that all stores share.
pub async fn pages_of_any_size_export_the_same(bench: &mut Bench) {
    store_migration_reads::fill(bench).await;
    let whole = bench.records().await;
    let (_, pages) = exported(&*bench.store, 1).await;
    let single: Vec<_> = pages.into_iter().flat_map(|(records, _)| records).collect();
    assert_eq!(single, whole);
    let places: Vec<_> = whole.iter().map(Record::place).collect();
    assert!(places.is_sorted(), "every store has the same order: {places:?}");
    let kinds: BTreeSet<u8> = places.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds.len(), 5, "something of every kind");
}

/// A page is bounded in bytes too, and nothing is lost where it ends.
pub async fn a_page_of_large_payloads_ends_early(bench: &mut Bench) {
    for n in 0..4 {
        let draft = bench.event(&format!("evt_{n}"));
        bench.stored(draft.body(vec![n; PAGE_BYTES_MAX / 2 + 1])).await;
    }
    let (mark, pages) = exported(&*bench.store, ALL).await;
    let sizes: Vec<usize> = pages.iter().map(|(records, _)| records.len()).collect();
    assert_eq!(sizes[..2], [2, 2], "{sizes:?}");
    let records = bench.records().await;
    bench.afresh().await;
    import(&*bench.store, &mark, pages).await;
    assert_eq!(bench.records().await, records);
}

/// Importing the same records again changes nothing, even if the store has been used since.
pub async fn taking_in_twice_changes_nothing(bench: &mut Bench) {
    let filled = store_migration_reads::fill(bench).await;
    let (mark, pages) = exported(&*bench.store, ALL).await;
    bench.afresh().await;
    assert_eq!(bench.store.begin_import(&mark).await.must(), ImportBegun::Started);
    for (records, reached) in pages.clone().into_iter().chain(pages.clone()) {
        bench.store.import(records, &reached).await.must();
    }
    bench.run("open", AttemptOutcome::Completed).await;
    let before = Looks::at(bench, &filled).await;
    for (records, reached) in pages {
        bench.store.import(records, &reached).await.must();
    }
    assert_eq!(Looks::at(bench, &filled).await, before);
}

/// An event accepted before the migration is a duplicate after it, whatever new id it arrives with.
pub async fn a_copied_identity_is_a_duplicate(bench: &mut Bench) {
    let id = bench.completed("evt_1", "billing").await;
    let known = bench.look_up("evt_1").await.must();
    bench.copied().await;
    for _ in 0..2 {
        let claim = bench.accept(bench.event("evt_1").to("billing")).await;
        assert_eq!(claim, Claim::Seen(known.clone()));
    }
    assert_eq!(known.id, id);
    assert!(bench.lease("billing").await.is_none());
}

/// Unfinished deliveries continue after the migration, under their keys, with their attempts counted, and run once.
pub async fn copied_work_is_leased_and_finished(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let key = bench.delivery(id, "billing").await.idempotency_key;
    bench.run("billing", again()).await;
    bench.copied().await;
    let leased = bench.lease("billing").await.must();
    assert_eq!((leased.event.id, leased.attempt), (id, 2));
    assert_eq!(leased.idempotency_key, key);
    bench.finished(&leased, AttemptOutcome::Completed).await;
    assert!(bench.lease("billing").await.is_none());
    assert_eq!(bench.record(id).await.attempts.len(), 2);
    assert_eq!(
        bench.replay(id, ReplayMode::All).await,
        Replayed::Again {
            deliveries: 1,
            generation: Generation(0)
        }
    );
}

/// Leases are not migrated: a running delivery waits, due now, and its attempt does not count.
pub async fn what_ran_waits_in_the_copy(bench: &mut Bench) {
    let id = bench.stored(bench.event("evt_1").to("billing")).await;
    let ran = bench.lease("billing").await.must();
    bench.copied().await;
    let view = bench.delivery(id, "billing").await;
    assert_eq!((view.state, view.attempts), (DeliveryState::Pending, 0));
    assert_eq!(
        bench.finish(&ran.hold(), AttemptOutcome::Completed).await,
        hapax_core::store::Written::LeaseLost
    );
    let leased = bench.lease("billing").await.must();
    assert_eq!(leased.attempt, 1);
    assert!(leased.token > ran.token);
}

/// Tokens after a migration are greater than every token of the original.
pub async fn tokens_of_a_copy_are_greater_than_all_before(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    let mut last = None;
    for _ in 0..5 {
        let leased = bench.lease("billing").await.must();
        last = Some(leased.token);
        bench.finished(&leased, again()).await;
    }
    bench.copied().await;
    assert!(Some(bench.lease("billing").await.must().token) > last);
}

/// A lane keeps its order; later deliveries come behind.
pub async fn lanes_keep_their_order_in_a_copy(bench: &mut Bench) {
    let ids = line(bench, 4, OnDead::Hold).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
    bench.copied().await;
    let late = bench
        .stored(bench.event("late").in_lane("orders", "customer", OnDead::Hold))
        .await;
    for id in [ids[1], ids[2], ids[3], late] {
        let leased = bench.lease_many("orders", 10).await;
        assert_eq!(leased.len(), 1, "one at a time");
        assert_eq!(leased[0].event.id, id);
        bench.finished(&leased[0], AttemptOutcome::Completed).await;
    }
}

/// A dead head still holds its lane, and is replayed in its position.
pub async fn a_dead_head_holds_its_lane_in_a_copy(bench: &mut Bench) {
    let ids = line(bench, 2, OnDead::Hold).await;
    assert_eq!(bench.run("orders", dead()).await, ids[0]);
    bench.copied().await;
    assert!(bench.lease("orders").await.is_none());
    bench.replay(ids[0], ReplayMode::Failed).await;
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[0]);
    assert_eq!(bench.run("orders", AttemptOutcome::Completed).await, ids[1]);
}

/// A lost lease stays lost: a delivery that may kill its worker is still leased separately.
pub async fn a_suspect_stays_a_suspect_in_a_copy(bench: &mut Bench) {
    bench.stored(bench.event("evt_1").to("billing")).await;
    bench.lease_briefly("billing").await;
    bench.expire().await;
    assert_eq!(bench.rescue().await.len(), 1);
    bench.copied().await;
    assert!(bench.lease("billing").await.is_none());
    let suspects = bench.lease_as("billing", 1, LONG, Candidates::Suspect).await;
    assert_eq!(suspects.first().map(|leased| leased.lost), Some(1));
}

/// The tombstone is migrated with the generation of the next event.
pub async fn a_forgotten_identity_stays_forgotten(bench: &mut Bench) {
    bench.completed("evt_1", "billing").await;
    bench.store.forget(&Identity::new("shop", "evt_1")).await.must();
    bench.copied().await;
    assert_eq!(bench.look_up("evt_1").await, None);
    let claim = bench.accept(bench.event("evt_1").to("billing")).await;
    let Claim::New { generation, .. } = claim else {
        panic!("a forgotten identity is new, got {claim:?}");
    };
    assert_eq!(generation, Generation(1));
    assert!(matches!(bench.accept(bench.event("evt_1")).await, Claim::Seen(_)));
}

/// Migrated events are purged when their window ends, and so are ledger entries without events.
pub async fn a_copy_is_purged_like_the_original(bench: &mut Bench) {
    store_migration_reads::ledger_only(bench, "gone").await;
    bench.completed("kept", "billing").await;
    bench.copied().await;
    let purged = bench.purge(&store_migration_reads::everything()).await;
    assert_eq!((purged.events, purged.ledger), (1, 2));
    assert!(bench.store.census().await.must().is_empty());
}

/// An interrupted migration knows its position and the store that it came from.
pub async fn a_stopped_copy_goes_on_where_it_stopped(bench: &mut Bench) {
    let filled = store_migration_reads::fill(bench).await;
    let before = Looks::at(bench, &filled).await;
    let (mark, pages) = exported(&*bench.store, 3).await;
    bench.afresh().await;
    assert_eq!(bench.store.begin_import(&mark).await.must(), ImportBegun::Started);
    let (first, rest) = pages.split_at(2);
    for (records, reached) in first {
        bench.store.import(records.clone(), reached).await.must();
    }
    let ImportBegun::Unfinished(found) = bench.store.begin_import(&mark).await.must() else {
        panic!("the mark is gone");
    };
    assert_eq!((found.origin, found.census), (mark.origin, mark.census));
    assert_eq!(found.reached, first[1].1);
    for (records, reached) in rest {
        bench.store.import(records.clone(), reached).await.must();
    }
    bench.store.finish_import().await.must();
    assert_eq!(Looks::at(bench, &filled).await, before);
}

/// A store that is not empty refuses a migration; so does one where none was started.
pub async fn only_an_empty_store_takes_a_copy(bench: &mut Bench) {
    bench.completed("evt_1", "billing").await;
    let (mark, pages) = exported(&*bench.store, ALL).await;
    assert_eq!(
        bench.store.begin_import(&mark).await.must(),
        ImportBegun::Occupied
    );
    bench.afresh().await;
    let (records, reached) = pages[0].clone();
    let refused = bench.store.import(records, &reached).await;
    assert!(matches!(refused, Err(Error::Rejected { .. })), "{refused:?}");
    assert!(bench.store.census().await.must().is_empty());
    import(&*bench.store, &mark, pages).await;
    assert_eq!(
        bench.store.begin_import(&mark).await.must(),
        ImportBegun::Occupied
    );
}

/// A store's origin is unique and never changes.
pub async fn a_store_knows_itself(bench: &mut Bench) {
    let origin = bench.store.origin().await.must();
    bench.stored(bench.event("evt_1")).await;
    bench.reopen().await;
    assert_eq!(bench.store.origin().await.must(), origin);
    bench.pass(Duration::from_millis(2)).await;
    bench.afresh().await;
    assert_ne!(bench.store.origin().await.must(), origin);
    let page = bench.store.export(&MigrationCursor::START, ALL).await.must();
    assert!(page.records.is_empty());
}

//! The audit trail as a chain: every entry is there, in one line, regardless of who wrote it.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Timestamp;
use hapax_core::store::{
    AuditBreak, AuditCheck, AuditEntry, AuditHead, AuditNumbered, AuditRecord, AuditVerified, PurgeOrder,
    Record,
};

use crate::bench::store_migration::{exported, import};
use crate::bench::{ALL, Bench, Must};

/// Each entry links to the previous one, and the chain ends where the store says.
pub async fn audit_entries_are_a_chain(bench: &mut Bench) {
    let mut head = bench.store.audit_head().await.must();
    assert_eq!(head, AuditHead::default());
    for number in 1..=5 {
        let link = bench.store.record(entry(number)).await.must();
        assert_eq!((link.before(), link.head.seq), (head, number));
        head = link.head;
    }
    assert_eq!(bench.store.audit_head().await.must(), head);
    let found = verified(bench, Some(head)).await;
    assert_eq!((found.entries, found.unchained, found.broken), (5, 0, None));
    assert_eq!(found.head, head);
}

/// Of many concurrent entries, no two link to the same one.
pub async fn concurrent_audit_entries_do_not_fork_the_chain(bench: &mut Bench) {
    let mut tasks = Vec::new();
    for number in 0..12 {
        let store = Arc::clone(&bench.store);
        tasks.push(tokio::spawn(async move { store.record(entry(number)).await }));
    }
    let mut numbers = Vec::new();
    for task in tasks {
        numbers.push(task.await.must().must().head.seq);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
    let found = verified(bench, None).await;
    assert_eq!((found.entries, found.broken), (12, None));
}

/// The chain continues after a restart.
pub async fn the_audit_chain_survives_a_restart(bench: &mut Bench) {
    let before = bench.store.record(entry(1)).await.must();
    bench.reopen().await;
    let after = bench.store.record(entry(2)).await.must();
    assert_eq!(after.before(), before.head);
    assert_eq!(verified(bench, Some(before.head)).await.broken, None);
}

/// The chain is the same in another store, and continues there.
pub async fn the_audit_chain_is_transferred(bench: &mut Bench) {
    for number in 1..=3 {
        bench.store.record(entry(number)).await.must();
    }
    let head = bench.store.audit_head().await.must();
    bench.copied().await;
    assert_eq!(bench.store.audit_head().await.must(), head);
    let link = bench.store.record(entry(4)).await.must();
    assert_eq!(link.before(), head);
    let found = verified(bench, Some(head)).await;
    assert_eq!((found.entries, found.broken), (4, None));
}

/// A head that was kept elsewhere is missing if the trail ends before it, or if another entry is in its place.
pub async fn an_audit_trail_that_is_not_the_one_of_before_is_found(bench: &mut Bench) {
    for number in 1..=3 {
        bench.store.record(entry(number)).await.must();
    }
    let head = bench.store.audit_head().await.must();
    let elsewhere = head.followed_by(bench.now().await, &entry(4));
    let cut_off = verified(bench, Some(elsewhere.head)).await;
    assert_eq!(cut_off.broken.map(|AuditBreak { seq, .. }| seq), Some(4));
    let again = AuditHead {
        seq: 2,
        ..elsewhere.head
    };
    let again = verified(bench, Some(again)).await;
    assert_eq!(again.broken.map(|AuditBreak { seq, .. }| seq), Some(2));
}

/// Of expired entries, the last stays: it proves that the earlier ones had expired, too.
pub async fn retention_keeps_the_last_old_audit_entry(bench: &mut Bench) {
    let now = bench.now().await;
    let days = |days: u64| Duration::from_secs(days * 86_400);
    let mut head = AuditHead::default();
    let mut records = Vec::new();
    for (number, age) in (1..).zip([days(480), days(440), days(401), days(399), days(1)]) {
        let (at, entry) = (now.minus(age), entry(number));
        let link = head.followed_by(at, &entry);
        head = link.head;
        let record = AuditRecord {
            at,
            entry,
            link: Some(link),
        };
        records.push(Record::Audit(AuditNumbered { number, record }));
    }
    let (mut mark, mut pages) = exported(&*bench.store, ALL).await;
    mark.census.numbers_below = mark.census.numbers_below.max(100);
    pages.last_mut().must().0.extend(records);
    import(&*bench.store, &mark, pages).await;
    for _ in 0..2 {
        bench.purge(&nothing()).await;
        let found = verified(bench, Some(head)).await;
        assert_eq!((found.deleted, found.entries, found.broken), (2, 3, None));
    }
    let next = bench.store.record(entry(6)).await.must();
    assert_eq!(next.before(), head);
    let found = verified(bench, Some(head)).await;
    assert_eq!((found.deleted, found.entries, found.broken), (2, 4, None));
}

/// An order that purges no event.
fn nothing() -> PurgeOrder {
    PurgeOrder {
        windows: Vec::new(),
        ledger_before: Timestamp::default(),
        limit: 100,
    }
}

async fn verified(bench: &Bench, kept: Option<AuditHead>) -> AuditVerified {
    let mut check = AuditCheck::new(bench.store.audit_head().await.must(), kept);
    let mut after = None;
    loop {
        let (records, next) = bench.store.audit(after, 2).await.must();
        for record in &records {
            check.look(record);
        }
        match next {
            Some(next) => after = Some(next),
            None => return check.finish(bench.store.audit_head().await.must(), bench.now().await),
        }
    }
}

fn entry(number: u64) -> AuditEntry {
    AuditEntry {
        who: "ops".to_owned(),
        action: "pause".to_owned(),
        subject: format!("destination {number}"),
        detail: String::new(),
    }
}

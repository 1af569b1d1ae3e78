//! A file from an earlier version: its events are found by every new index, too.

use hapax_core::store::{Claim, ConflictingBody, DuplicateCount, DuplicateNote, EventQuery, Has};
use hapax_core::{BodyHash, EventId, Headers, Operations, Store};
use hapax_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::bench::{Bench, accept};

/// Downgrades the file to the version before searches.
const BACK: &str = "
    DROP INDEX outcomes_why; DROP INDEX events_kind;
    DROP TABLE views; DROP TABLE traffic; DROP TABLE indexed_fields; DROP TABLE noted; DROP TABLE indexed;
    DROP TABLE alerts; DROP INDEX work_turn; ALTER TABLE events DROP COLUMN no;
    DROP TABLE audit_head; ALTER TABLE audit DROP COLUMN link;
    PRAGMA user_version = 2;";

#[tokio::test]
async fn duplicates_and_conflicts_from_before_an_upgrade_are_found() {
    let bench = Bench::new();
    let store = bench.open();
    let event = bench.event("noted").build();
    for _ in 0..2 {
        accept(&store, event.clone()).await.unwrap();
    }
    accept(&store, bench.event("plain").build()).await.unwrap();
    let note = DuplicateNote {
        key: event.key,
        count: 1,
        last_at: event.received_at,
        gaps_ms: vec![3],
    };
    store.note_duplicates(vec![note]).await.unwrap();
    let other_body = ConflictingBody {
        key: event.key,
        first: event.id,
        source: event.source.clone(),
        raw_hash: BodyHash::of(b"other"),
        received_at: event.received_at,
        headers: Headers::default(),
        body: b"other"[..].into(),
    };
    store.record_conflicts(vec![other_body]).await.remove(0).unwrap();
    store.close().await;
    Connection::open(bench.path())
        .unwrap()
        .execute_batch(BACK)
        .unwrap();

    let store = bench.open();
    let with_duplicates = EventQuery {
        duplicates: Some(DuplicateCount { min: 1, max: None }),
        ..EventQuery::default()
    };
    assert_eq!(found(&store, &with_duplicates).await, [event.id]);
    let conflict = EventQuery {
        has: Some(Has::Conflict),
        ..EventQuery::default()
    };
    assert_eq!(found(&store, &conflict).await, [event.id]);
    let claim = accept(&store, event).await.unwrap();
    assert!(matches!(claim, Claim::Seen(_)));
}

async fn found(store: &SqliteStore, query: &EventQuery) -> Vec<EventId> {
    let page = store.list(query, None, 10).await.unwrap();
    page.events.iter().map(|event| event.id).collect()
}

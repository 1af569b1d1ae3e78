//! A database from an earlier version: its events are found by every new index, too.

use hapax_core::store::{Claim, ConflictingBody, DuplicateCount, DuplicateNote, EventQuery, Has};
use hapax_core::{BodyHash, EventId, Headers, Operations, Store};
use hapax_store_postgres::PostgresStore;
use hapax_test_postgres::Server;

use crate::bench::{Maker, accept, open};

/// Downgrades the database to the version before searches.
const BACK: &str = "
    DROP TABLE hapax.views, hapax.traffic, hapax.indexed_fields, hapax.noted, hapax.indexed, hapax.alerts, hapax.owners;
    DROP INDEX hapax.places_turn;
    DROP TABLE hapax.audit_head; ALTER TABLE hapax.audit DROP COLUMN link;
    UPDATE hapax.meta SET value = 2 WHERE key = 'schema_version';";

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_and_conflicts_from_before_an_upgrade_are_found() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let event = maker.event("noted");
    for _ in 0..2 {
        accept(&store, event.clone()).await.unwrap();
    }
    accept(&store, maker.event("plain")).await.unwrap();
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
    drop(store);
    let admin = database.client().await.unwrap();
    admin.batch_execute(BACK).await.unwrap();

    let store = open(&database).await;
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

async fn found(store: &PostgresStore, query: &EventQuery) -> Vec<EventId> {
    let page = store.list(query, None, 10).await.unwrap();
    page.events.iter().map(|event| event.id).collect()
}

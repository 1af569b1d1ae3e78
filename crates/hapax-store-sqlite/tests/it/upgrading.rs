//! A file from an earlier version: its events are found by every new index, too.

use std::time::Duration;

use hapax_core::store::{
    Claim, ConflictingBody, DuplicateCount, DuplicateNote, EventQuery, Forgotten, Has, PurgeOrder,
    PurgeWindow,
};
use hapax_core::{BodyHash, EventId, Headers, Operations, Store};
use hapax_store_laws::clock::START;
use hapax_store_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

use crate::bench::{Bench, accept};

/// Downgrades the file to the version before the merged index of the ledger, which had a unique one.
const BACK_TO_6: &str = "
    CREATE TABLE unique_ledger (
        no           INTEGER PRIMARY KEY,
        key          BLOB NOT NULL UNIQUE,
        scope        INTEGER NOT NULL,
        id           BLOB NOT NULL,
        generation   INTEGER NOT NULL,
        first_seen   INTEGER NOT NULL,
        expires_at   INTEGER NOT NULL,
        raw_hash     BLOB NOT NULL,
        content_rule INTEGER,
        content_hash BLOB,
        forgotten    INTEGER NOT NULL
    ) STRICT;
    INSERT INTO unique_ledger SELECT * FROM ledger;
    DROP TABLE ledger; DROP TABLE ledger_keys;
    ALTER TABLE unique_ledger RENAME TO ledger;
    DELETE FROM meta WHERE key = 'ledger_merged';
    UPDATE meta SET value = 1 WHERE key = 'min_compatible';
    PRAGMA user_version = 6;";

/// Downgrades such a file to the version before searches.
const BACK_TO_2: &str = "
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
    go_back(&bench, &[BACK_TO_6, BACK_TO_2]);

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

/// An entry as version 6 appends it: only if the unique index does not have its key.
const APPEND_AS_6: &str = "
    INSERT INTO ledger (key, scope, id, generation, first_seen, expires_at, raw_hash, content_rule, content_hash,
                        forgotten)
    SELECT key, scope, id, generation, first_seen, expires_at, raw_hash, content_rule, content_hash, forgotten
    FROM ledger WHERE true ON CONFLICT (key) DO NOTHING";

#[tokio::test]
async fn a_file_from_before_the_merged_ledger_is_served_and_stays_open_to_its_version() {
    let bench = Bench::new();
    let store = bench.open();
    let mut events: Vec<_> = (0..20)
        .map(|number| bench.event(&format!("evt_{number}")).build())
        .collect();
    for event in &events[..10] {
        let claim = accept(&store, event.clone()).await.unwrap();
        assert!(matches!(claim, Claim::New { .. }));
    }
    store.close().await;
    go_back(&bench, &[BACK_TO_6]);

    for expected in 10..20 {
        let options = Options {
            recent_keys_max: 1,
            ..bench.options()
        };
        let store = SqliteStore::open(&bench.path(), options).unwrap();
        for (at, event) in events.iter().enumerate() {
            if at > expected {
                break;
            }
            let claim = accept(&store, event.clone()).await.unwrap();
            assert_eq!(
                matches!(claim, Claim::New { .. }),
                at == expected,
                "{at}: {claim:?}"
            );
            let entry = store.look_up(&event.identity).await.unwrap().unwrap();
            assert_eq!(entry.id, event.id);
        }
        store.close().await;
        let file = Connection::open(bench.path()).unwrap();
        assert_eq!(
            file.execute(APPEND_AS_6, []).unwrap(),
            0,
            "each key is in its index"
        );
        let oldest: u32 = file
            .query_row("SELECT value FROM meta WHERE key = 'min_compatible'", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(oldest, 1);
    }
    // What is forgotten, purged and listed is found by the same index.
    let store = bench.open();
    let first = events.remove(0);
    let forgotten = store.forget(&first.identity).await.unwrap();
    assert!(matches!(forgotten, Forgotten::Done { .. }), "{forgotten:?}");
    let again = bench.event("evt_0").build();
    assert!(matches!(accept(&store, again).await.unwrap(), Claim::New { .. }));
    let late = START.plus(Duration::from_secs(90 * 86_400));
    let order = PurgeOrder {
        windows: vec![PurgeWindow {
            source: "shop".into(),
            payload_before: late,
            dead_before: late,
        }],
        ledger_before: late,
        limit: 1_000,
    };
    let purged = store.purge(order).await.unwrap();
    assert_eq!((purged.events, purged.ledger), (21, 20));
    for event in events {
        let claim = accept(&store, event).await.unwrap();
        assert!(matches!(claim, Claim::New { .. }));
    }
}

fn go_back(bench: &Bench, steps: &[&str]) {
    let file = Connection::open(bench.path()).unwrap();
    for step in steps {
        file.execute_batch(step).unwrap();
    }
}

async fn found(store: &SqliteStore, query: &EventQuery) -> Vec<EventId> {
    let page = store.list(query, None, 10).await.unwrap();
    page.events.iter().map(|event| event.id).collect()
}

//! The ledger in two parts: the keys of the newest entries in memory, and the index that they are merged into.

use std::fs;
use std::time::Duration;

use hapax_core::store::{AcceptRequest, Claim, Error, Forgotten, PurgeOrder, PurgeWindow};
use hapax_core::{Generation, Identity, NewEvent, Store};
use hapax_store_laws::clock::START;
use hapax_store_sqlite::{Options, SqliteStore};
use rusqlite::Connection;

use crate::bench::{Bench, accept};

/// Everything is merged, something is, nothing is.
const KEYS_MAX: [usize; 3] = [1, 16, 100_000];

fn open(bench: &Bench, recent_keys_max: usize) -> SqliteStore {
    let options = Options {
        recent_keys_max,
        ..bench.options()
    };
    SqliteStore::open(&bench.path(), options).unwrap()
}

/// The files as a crash leaves them.
fn crash(bench: &Bench) -> Bench {
    let crashed = Bench::new();
    fs::copy(bench.path(), crashed.path()).unwrap();
    if bench.log_path().exists() {
        fs::copy(bench.log_path(), crashed.log_path()).unwrap();
    }
    crashed
}

fn events(bench: &Bench, names: impl IntoIterator<Item = u32>) -> Vec<NewEvent> {
    let event = |number| bench.event(&format!("evt_{number}")).build();
    names.into_iter().map(event).collect()
}

/// Accepts events, a few in each request.
async fn accept_all(store: &SqliteStore, events: &[NewEvent]) -> Vec<Claim> {
    let requests = events.chunks(3).map(|events| AcceptRequest {
        events: events.to_vec(),
    });
    let answers = store.accept(requests.collect()).await;
    answers.into_iter().flat_map(Result::unwrap).collect()
}

async fn all_are_new(store: &SqliteStore, events: &[NewEvent]) {
    for (claim, event) in accept_all(store, events).await.iter().zip(events) {
        assert!(matches!(claim, Claim::New { .. }), "{claim:?} for {event:?}");
    }
}

async fn all_are_seen(store: &SqliteStore, events: &[NewEvent]) {
    for (claim, event) in accept_all(store, events).await.iter().zip(events) {
        assert!(
            matches!(claim, Claim::Seen(entry) if entry.id == event.id),
            "{claim:?} for {event:?}"
        );
        let entry = store.look_up(&event.identity).await.unwrap().unwrap();
        assert_eq!(entry.id, event.id);
    }
}

/// Each key has one row, and the index has every row that it should.
fn check(bench: &Bench) {
    let file = Connection::open(bench.path()).unwrap();
    for wrong in [
        "SELECT count(*) - count(DISTINCT key) FROM ledger",
        "SELECT count(*) FROM ledger_keys k
         WHERE NOT EXISTS (SELECT 1 FROM ledger l WHERE l.no = k.no AND l.key = k.key)",
        "SELECT count(*) FROM ledger WHERE no <= (SELECT value FROM meta WHERE key = 'ledger_merged')
         AND key NOT IN (SELECT key FROM ledger_keys)",
    ] {
        let count: i64 = file.query_row(wrong, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0, "{wrong}");
    }
}

#[tokio::test]
async fn every_duplicate_is_found_wherever_its_key_is() {
    for keys_max in KEYS_MAX {
        let bench = Bench::new();
        let store = open(&bench, keys_max);
        let events = events(&bench, 0..200);
        for some in events.chunks(7) {
            all_are_new(&store, some).await;
            all_are_seen(&store, some).await;
        }
        all_are_seen(&store, &events).await;
        store.close().await;
        check(&bench);
        all_are_seen(&open(&bench, keys_max), &events).await;
        // The limit may be another at the next start.
        all_are_seen(&open(&bench, 40), &events).await;
        check(&bench);
    }
}

#[tokio::test]
async fn a_crash_at_any_time_forgets_no_key() {
    for keys_max in KEYS_MAX {
        let bench = Bench::new();
        let store = open(&bench, keys_max);
        let events = events(&bench, 0..42);
        let mut accepted = 0;
        for some in events.chunks(7) {
            all_are_new(&store, some).await;
            accepted += some.len();
            let crashed = crash(&bench);
            let again = open(&crashed, keys_max);
            all_are_seen(&again, &events[..accepted]).await;
            all_are_new(&again, &events[accepted..]).await;
            let twice = crash(&crashed);
            again.close().await;
            check(&crashed);
            all_are_seen(&open(&twice, keys_max), &events).await;
            check(&twice);
        }
    }
}

#[tokio::test]
async fn keys_of_a_request_that_is_undone_are_free_again() {
    for keys_max in KEYS_MAX {
        let bench = Bench::new();
        let store = open(&bench, keys_max);
        let mut all = events(&bench, 0..40);
        let taken = all[0].id;
        all_are_new(&store, &all[..1]).await;
        let mut requests: Vec<AcceptRequest> = all[1..]
            .chunks(3)
            .map(|events| AcceptRequest {
                events: events.to_vec(),
            })
            .collect();
        // The last event of every second request has an id that belongs to another event.
        for request in requests.iter_mut().step_by(2) {
            request.events.last_mut().unwrap().id = taken;
        }
        let answers = store.accept(requests).await;
        let mut undone = Vec::new();
        let mut kept = vec![all.remove(0)];
        for (at, (answer, events)) in answers.iter().zip(all.chunks(3)).enumerate() {
            if at % 2 == 0 {
                assert!(matches!(answer, Err(Error::Rejected { .. })), "{answer:?}");
                undone.extend_from_slice(events);
            } else {
                assert!(answer.is_ok(), "{answer:?}");
                kept.extend_from_slice(events);
            }
        }
        for event in &undone {
            assert_eq!(store.look_up(&event.identity).await.unwrap(), None);
        }
        all_are_seen(&store, &kept).await;
        all_are_new(&store, &undone).await;
        all_are_seen(&store, &undone).await;
        store.close().await;
        check(&bench);
    }
}

#[tokio::test]
async fn an_identity_is_forgotten_and_taken_again_wherever_its_key_is() {
    for keys_max in KEYS_MAX {
        let bench = Bench::new();
        let store = open(&bench, keys_max);
        let first = events(&bench, 0..30);
        all_are_new(&store, &first).await;
        for event in &first {
            let forgotten = store.forget(&event.identity).await.unwrap();
            let next = Generation(1);
            assert!(
                matches!(forgotten, Forgotten::Done { next: found } if found == next),
                "{forgotten:?}"
            );
            assert_eq!(store.look_up(&event.identity).await.unwrap(), None);
        }
        let second = events(&bench, 0..30);
        let crashed = crash(&bench);
        for store in [store, open(&crashed, keys_max)] {
            for (claim, event) in accept_all(&store, &second).await.iter().zip(&second) {
                assert!(
                    matches!(claim, Claim::New { generation, .. } if *generation == Generation(1)),
                    "{claim:?} for {event:?}"
                );
            }
            all_are_seen(&store, &second).await;
        }
        all_are_seen(&open(&bench, keys_max), &second).await;
        check(&bench);
    }
}

#[tokio::test]
async fn a_purged_key_is_new_again_and_its_row_number_is_not() {
    for keys_max in KEYS_MAX {
        let bench = Bench::new();
        let store = open(&bench, keys_max);
        let first = events(&bench, 0..50);
        all_are_new(&store, &first).await;
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
        assert_eq!((purged.events, purged.ledger), (50, 50));
        for event in &first {
            assert_eq!(store.look_up(&event.identity).await.unwrap(), None);
        }
        let crashed = crash(&bench);
        for (bench, store) in [(&bench, store), (&crashed, open(&crashed, keys_max))] {
            // Rows that are numbered from 1 again would be below the mark, where a crash does not look.
            let second = events(bench, 0..3);
            all_are_new(&store, &second).await;
            let again = crash(bench);
            all_are_seen(&open(&again, keys_max), &second).await;
            check(&again);
            all_are_seen(&store, &second).await;
        }
    }
}

#[tokio::test]
async fn a_key_of_another_scope_is_another_key() {
    let bench = Bench::new();
    let store = open(&bench, 1);
    let event = bench.event("evt").build();
    let other = bench
        .event("evt")
        .with(|event| {
            event.identity = Identity::new("other", "evt");
            event.key = event.identity.key();
        })
        .build();
    for _ in 0..2 {
        accept(&store, event.clone()).await.unwrap();
        accept(&store, other.clone()).await.unwrap();
    }
    assert_eq!(store.counts().await.unwrap().events, 2);
}

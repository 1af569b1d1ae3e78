//! Opening: one process per file, and a file that is damaged or not ours is left alone.

use std::fs;

use hapax_core::store::{Candidates, Claim};
use hapax_core::{AttemptOutcome, ErrorClass, Store};
use hapax_store_sqlite::{OpenError, SCHEMA_VERSION};
use rusqlite::Connection;

use crate::bench::{Bench, accept, lease};

#[tokio::test]
async fn a_second_opening_is_refused_and_names_file_and_lock() {
    let bench = Bench::new();
    let first = bench.open();
    let refused = bench.try_open().unwrap_err();
    assert!(matches!(refused, OpenError::AlreadyOpen { .. }), "{refused:?}");
    let text = refused.to_string();
    assert!(
        text.contains("hapax.db is in use") && text.contains("hapax.db.lock"),
        "{text}"
    );
    first.close().await;
    bench.open();
}

#[tokio::test]
async fn closing_leaves_one_file_and_refuses_later_calls() {
    let bench = Bench::new();
    let store = bench.open();
    accept(&store, bench.event("a").build()).await.unwrap();
    store.close().await;
    assert!(!bench.log_path().exists(), "the log is in the file");
    let refused = accept(&store, bench.event("b").build()).await.unwrap_err();
    assert!(refused.to_string().contains("closed"), "{refused}");
    assert!(store.counts().await.is_err());
    store.close().await;
}

#[test]
fn a_file_that_is_no_database_is_refused_and_untouched() {
    for content in [
        &b"not a database at all"[..],
        &[7; 8192][..],
        b"SQLite format 3\0",
    ] {
        let bench = Bench::new();
        fs::write(bench.path(), content).unwrap();
        let refused = bench.try_open().unwrap_err();
        assert!(
            matches!(
                refused,
                OpenError::NotADatabase { .. } | OpenError::Damaged { .. }
            ),
            "{refused:?}"
        );
        assert!(refused.to_string().contains("was not changed"), "{refused}");
        assert_eq!(fs::read(bench.path()).unwrap(), content);
    }
}

#[test]
fn a_database_of_another_program_is_refused_and_untouched() {
    let bench = Bench::new();
    let other = Connection::open(bench.path()).unwrap();
    other
        .execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
        .unwrap();
    drop(other);
    let before = fs::read(bench.path()).unwrap();
    let refused = bench.try_open().unwrap_err();
    assert!(matches!(refused, OpenError::NotADatabase { .. }), "{refused:?}");
    assert_eq!(fs::read(bench.path()).unwrap(), before);
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_refused_and_untouched() {
    let bench = Bench::new();
    let store = bench.open();
    for number in 0..50 {
        let draft = bench.event(&number.to_string()).body(vec![b'x'; 4000]);
        accept(&store, draft.build()).await.unwrap();
    }
    store.close().await;
    let mut content = fs::read(bench.path()).unwrap();
    content.truncate(content.len() / 2);
    fs::write(bench.path(), &content).unwrap();
    let refused = bench.try_open().unwrap_err();
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused:?}");
    assert_eq!(fs::read(bench.path()).unwrap(), content);
}

#[tokio::test]
async fn a_file_with_an_overwritten_page_is_refused_and_untouched() {
    let bench = Bench::new();
    let store = bench.open();
    for number in 0..200 {
        accept(&store, bench.event(&number.to_string()).to("sink").build())
            .await
            .unwrap();
    }
    store.close().await;
    let mut content = fs::read(bench.path()).unwrap();
    // Every page but the first, which has the header: whichever page is in use is broken.
    content[4096..].fill(0xa5);
    fs::write(bench.path(), &content).unwrap();
    let refused = bench.try_open().unwrap_err();
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused:?}");
    assert_eq!(fs::read(bench.path()).unwrap(), content);
}

#[test]
fn a_newer_schema_is_refused_unless_it_still_serves_this_version() {
    let bench = Bench::new();
    drop(bench.open());
    let newer = Connection::open(bench.path()).unwrap();
    newer
        .execute_batch("PRAGMA user_version = 99; UPDATE meta SET value = 98 WHERE key = 'min_compatible'")
        .unwrap();
    let refused = bench.try_open().unwrap_err();
    let OpenError::NewerSchema { found, supported } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((found, supported), (99, SCHEMA_VERSION));
    newer
        .execute(
            "UPDATE meta SET value = ?1 WHERE key = 'min_compatible'",
            [SCHEMA_VERSION],
        )
        .unwrap();
    drop(newer);
    drop(bench.open());
    let kept: u32 = Connection::open(bench.path())
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kept, 99, "an older program does not turn the version back");
}

#[tokio::test]
async fn reopening_voids_leases_and_the_third_loss_is_death() {
    let bench = Bench::new();
    let event = bench.event("a").to("sink").build();
    let id = event.id;
    let mut store = bench.open();
    accept(&store, event).await.unwrap();
    let mut tokens = vec![lease(&store, "sink", Candidates::Fresh).await.unwrap().token];
    for lost in 1..=2 {
        drop(store);
        store = bench.open();
        assert!(lease(&store, "sink", Candidates::Fresh).await.is_none());
        let again = lease(&store, "sink", Candidates::Suspect).await.unwrap();
        assert_eq!((again.lost, again.attempt), (lost, 1));
        tokens.push(again.token);
    }
    assert!(
        tokens.is_sorted() && tokens[0] < tokens[1],
        "tokens never go back: {tokens:?}"
    );
    drop(store);
    store = bench.open();
    let delivery = store.get(id).await.unwrap().unwrap().deliveries.remove(0);
    assert_eq!(delivery.error, Some(ErrorClass::Lost));
    assert_eq!((delivery.lost, delivery.attempts), (3, 0));
}

#[tokio::test]
async fn a_lease_of_the_process_before_cannot_finish_anything() {
    let bench = Bench::new();
    let store = bench.open();
    accept(&store, bench.event("a").to("sink").build()).await.unwrap();
    let leased = lease(&store, "sink", Candidates::Fresh).await.unwrap();
    drop(store);
    let store = bench.open();
    let report = hapax_core::store::Report {
        hold: leased.hold(),
        attempt: None,
        outcome: AttemptOutcome::Completed,
    };
    let written = store.finish(vec![report]).await.unwrap();
    assert_eq!(written, [hapax_core::store::Written::LeaseLost]);
}

#[tokio::test]
async fn ids_with_the_same_order_are_stored_beside_each_other() {
    let bench = Bench::new();
    let store = bench.open();
    let other = Bench::new();
    let (one, two) = (
        bench.event("one").to("sink").build(),
        other.event("two").to("sink").build(),
    );
    assert_eq!(one.id.order(), two.id.order());
    let ids = [one.id, two.id];
    for event in [one.clone(), two.clone(), one, two] {
        accept(&store, event).await.unwrap();
    }
    for (id, event_id) in ids.into_iter().zip(["one", "two"]) {
        let record = store.get(id).await.unwrap().unwrap();
        assert_eq!(
            (record.event.id, record.event.identity.event_id.as_str()),
            (id, event_id)
        );
        let leased = lease(&store, "sink", Candidates::Fresh).await.unwrap();
        let report = hapax_core::store::Report {
            hold: leased.hold(),
            attempt: None,
            outcome: AttemptOutcome::Completed,
        };
        let written = store.finish(vec![report]).await.unwrap();
        assert_eq!(written, [hapax_core::store::Written::Applied]);
    }
    assert_eq!(store.counts().await.unwrap().events, 2);
}

#[tokio::test]
async fn an_id_that_is_taken_is_rejected_and_its_neighbours_are_stored() {
    let bench = Bench::new();
    let store = bench.open();
    let first = bench.event("first").build();
    let taken = first.id;
    accept(&store, first).await.unwrap();
    let requests = ["before", "poison", "after"]
        .map(|event_id| {
            let mut event = bench.event(event_id).to("sink").build();
            if event_id == "poison" {
                event.id = taken;
            }
            hapax_core::store::AcceptRequest { events: vec![event] }
        })
        .to_vec();
    let answers = store.accept(requests).await;
    assert!(matches!(answers[0].as_ref().unwrap()[0], Claim::New { .. }));
    assert!(
        matches!(answers[1], Err(hapax_core::store::Error::Rejected { .. })),
        "{answers:?}"
    );
    assert!(matches!(answers[2].as_ref().unwrap()[0], Claim::New { .. }));
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.events, counts.ledger[0].entries), (3, 3));
    let identity = hapax_core::Identity::new("shop", "poison");
    assert_eq!(store.look_up(&identity).await.unwrap(), None);
}

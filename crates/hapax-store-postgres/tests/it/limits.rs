//! Everything has a limit: the number of waiting calls, and how long they wait.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{BodyTerm, Error, EventQuery, TimeRange, ValueSpace, Written};
use hapax_core::{Leased, Operations, Store};
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::Server;

use crate::bench::{LONG, Maker, accept, done, lease, open};

#[tokio::test(flavor = "multi_thread")]
async fn more_than_may_wait_are_refused_as_overloaded() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.connections_max = 1;
    options.calls_max = 2;
    let store = Arc::new(PostgresStore::open(options).await.unwrap());
    let admin = database.client().await.unwrap();
    // Probes wait behind this lock.
    admin
        .batch_execute("BEGIN; UPDATE hapax.meta SET value = 1 WHERE key = 'probed_at'")
        .await
        .unwrap();
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.probe().await })
        })
        .collect();
    // The refused calls return at once; the other two wait for the lock.
    while calls.iter().filter(|call| call.is_finished()).count() < 8 {
        tokio::task::yield_now().await;
    }
    admin.batch_execute("ROLLBACK").await.unwrap();
    let (mut refused, mut done) = (0, 0);
    for call in calls {
        match call.await.unwrap() {
            Ok(()) => done += 1,
            Err(error) => {
                assert!(matches!(error, Error::Overloaded), "{error}");
                refused += 1;
            }
        }
    }
    assert_eq!((refused, done), (8, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_a_connection_only_so_long() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.connections_max = 1;
    options.acquire_timeout = Duration::from_millis(100);
    options.lock_timeout = Duration::from_secs(1);
    let store = Arc::new(PostgresStore::open(options).await.unwrap());
    let admin = database.client().await.unwrap();
    admin
        .batch_execute("BEGIN; UPDATE hapax.meta SET value = 1 WHERE key = 'probed_at'")
        .await
        .unwrap();
    let first = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.probe().await })
    };
    let watch = database.client().await.unwrap();
    let waits =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while watch.query(waits, &[]).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let error = store.pauses().await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    let error = first.await.unwrap().unwrap_err();
    assert!(
        matches!(error, Error::Unavailable { .. }),
        "the lock came too late: {error}"
    );
    admin.batch_execute("ROLLBACK").await.unwrap();
    store.probe().await.unwrap();
}

/// As many searches and upkeep calls as there are connections of any kind, none of which finishes.
#[tokio::test(flavor = "multi_thread")]
async fn no_search_and_no_upkeep_keeps_an_event_waiting() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let admin = database.client().await.unwrap();
    admin
        .batch_execute("BEGIN; LOCK TABLE hapax.views, hapax.traffic IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let stuck: Vec<_> = (0..20)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                match n % 2 {
                    0 => drop(store.values(&ValueSpace::SavedSearches).await),
                    _ => drop(store.traffic(TimeRange::Day).await),
                }
            })
        })
        .collect();
    let watch = database.client().await.unwrap();
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    while watch.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < 4 {
        tokio::task::yield_now().await;
    }
    let event = Maker::default().event("evt_1");
    for _ in 0..2 {
        accept(&store, event.clone()).await.unwrap();
    }
    let leased = lease(&store, 1, LONG).await.leased;
    let hold = leased[0].hold();
    let extended = store.extend(vec![hold.clone()], LONG).await.unwrap();
    let finished = store.finish(vec![done(hold)]).await.unwrap();
    assert_eq!(
        (extended, finished),
        (vec![Written::Applied], vec![Written::Applied])
    );
    store.probe().await.unwrap();
    assert!(stuck.iter().all(|call| !call.is_finished()), "nobody was let in");
    admin.batch_execute("ROLLBACK").await.unwrap();
    for call in stuck {
        call.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_leaves_no_transaction_behind() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.connections_max = 1;
    let store = PostgresStore::open(options).await.unwrap();
    let maker = Maker::default();
    for n in 0..40 {
        let call = accept(&store, maker.event(&format!("evt_{n}")));
        drop(tokio::time::timeout(Duration::from_micros(n * 50), call).await);
    }
    // The only connection still works, and the stored events are complete.
    let leased = lease(&store, 100, LONG).await.leased;
    assert_eq!(leased.len() as u64, store.counts().await.unwrap().events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_reads_a_bounded_number_of_bodies_and_says_how_many() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.list_scan_max = 10;
    let store = PostgresStore::open(options).await.unwrap();
    let maker = Maker::default();
    for number in 0..25 {
        let mut event = maker.event(&number.to_string());
        event.body = format!("{{\"id\":{number}}}").into();
        for _ in 0..2 {
            accept(&store, event.clone()).await.unwrap();
        }
    }
    let query = EventQuery {
        body: vec![BodyTerm {
            pointer: "/id".to_owned(),
            value: "3".to_owned(),
        }],
        ..EventQuery::default()
    };
    let mut read = Vec::new();
    let mut found = 0;
    let mut after = None;
    loop {
        let page = store.list(&query, after, 5).await.unwrap();
        read.push(page.bodies_read);
        found += page.events.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((read, found), (vec![10, 10, 5], 1));
    let rare = EventQuery {
        source: Some("nobody".into()),
        ..EventQuery::default()
    };
    let page = store.list(&rare, None, 5).await.unwrap();
    assert_eq!(
        (page.events.len(), page.next),
        (0, None),
        "it is found by an index"
    );
}

#[tokio::test]
async fn a_lease_ends_once_its_payloads_are_large_and_the_rest_stays_due() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    let maker = Maker::default();
    let mut ids = Vec::new();
    for event_id in ["evt_1", "evt_2", "evt_3"] {
        let mut event = maker.event(event_id);
        event.body = vec![7; 9 << 20].into();
        ids.push(event.id);
        accept(&store, event).await.unwrap();
    }
    let first = lease(&store, 3, LONG).await;
    let of = |leased: &[Leased]| -> Vec<_> { leased.iter().map(|leased| leased.event.id).collect() };
    assert_eq!(of(&first.leased), ids[..2], "the longest due first");
    assert!(
        first
            .leased
            .iter()
            .all(|leased| leased.event.body.len() == 9 << 20)
    );
    assert!(first.next_due.is_some(), "the third is due");
    let second = lease(&store, 3, LONG).await;
    assert_eq!(of(&second.leased), ids[2..]);
    assert_eq!(second.next_due, None);
}

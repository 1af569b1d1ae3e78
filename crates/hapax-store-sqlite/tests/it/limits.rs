//! Bounded queues: calls that do not fit are refused at once, and a refused call was not written.

use std::sync::Arc;

use hapax_core::Store;
use hapax_core::store::{AcceptRequest, BodyTerm, Error, EventQuery};
use hapax_store_sqlite::{Options, SqliteStore};

use crate::bench::{Bench, accept};

const CALLS: usize = 400;

#[tokio::test]
async fn a_full_queue_refuses_at_once_and_what_it_took_is_stored() {
    let bench = Bench::new();
    let options = Options {
        queue_calls_max: 2,
        ..bench.options()
    };
    let store = Arc::new(SqliteStore::open(&bench.path(), options).unwrap());
    // One long transaction keeps the writer busy while the other calls arrive.
    let events = (0..2_000).map(|number| bench.event(&format!("long_{number}")).build());
    let mut calls = tokio::task::JoinSet::new();
    let long = AcceptRequest {
        events: events.collect(),
    };
    let busy = Arc::clone(&store);
    calls.spawn(async move { busy.accept(vec![long]).await.remove(0).map(|claims| claims.len()) });
    for number in 0..CALLS {
        let event = bench.event(&format!("short_{number}")).build();
        let store = Arc::clone(&store);
        calls.spawn(async move { accept(&store, event).await.map(|_| 1) });
    }
    let mut stored = 0;
    let mut refused = 0;
    for answer in calls.join_all().await {
        match answer {
            Ok(count) => stored += count,
            Err(Error::Overloaded) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(refused > 0, "{CALLS} calls cannot all fit into a queue of two");
    assert_eq!(store.counts().await.unwrap().events, stored as u64);
}

#[tokio::test]
async fn searches_that_find_no_room_refuse_no_accept() {
    let bench = Bench::new();
    let options = Options {
        readers: 1,
        read_queue_calls_max: 1,
        ..bench.options()
    };
    let store = Arc::new(SqliteStore::open(&bench.path(), options).unwrap());
    let mut searches = tokio::task::JoinSet::new();
    for number in 0..CALLS {
        let searching = Arc::clone(&store);
        searches.spawn(async move { searching.list(&EventQuery::default(), None, 100).await.map(drop) });
        if number % 20 == 0 {
            let event = bench.event(&format!("evt_{number}")).build();
            for _ in 0..2 {
                accept(&store, event.clone()).await.unwrap();
            }
        }
    }
    let answers = searches.join_all().await;
    assert!(
        answers
            .iter()
            .any(|answer| matches!(answer, Err(Error::Overloaded)))
    );
    assert_eq!(store.counts().await.unwrap().events, CALLS as u64 / 20);
}

#[tokio::test]
async fn payloads_that_wait_are_bounded_in_bytes_but_a_large_one_alone_is_let_in() {
    let bench = Bench::new();
    let options = Options {
        queue_bytes_max: 1_000,
        ..bench.options()
    };
    let store = SqliteStore::open(&bench.path(), options).unwrap();
    let large = bench.event("large").body(vec![b'x'; 100_000]).build();
    accept(&store, large).await.unwrap();
}

#[tokio::test]
async fn a_list_looks_at_a_bounded_number_of_rows_and_goes_on_with_a_cursor() {
    let bench = Bench::new();
    let options = Options {
        list_scan_max: 10,
        ..bench.options()
    };
    let store = SqliteStore::open(&bench.path(), options).unwrap();
    accept(
        &store,
        bench.event("wanted").of_type("rare").to("billing").build(),
    )
    .await
    .unwrap();
    for number in 0..95 {
        accept(&store, bench.event(&number.to_string()).build())
            .await
            .unwrap();
    }
    let rare = EventQuery {
        event_type: Some("rare".to_owned()),
        ..EventQuery::default()
    };
    let page = store.list(&rare, None, 5).await.unwrap();
    assert_eq!(
        (page.events.len(), page.next),
        (1, None),
        "it is found by an index"
    );
    let query = EventQuery {
        to: Some("billing".into()),
        ..EventQuery::default()
    };
    let mut after = None;
    let mut pages = 0;
    let mut found = Vec::new();
    loop {
        let page = store.list(&query, after, 5).await.unwrap();
        found.extend(page.events);
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), 1);
    assert_eq!(pages, 10, "ten rows for each page");
}

#[tokio::test]
async fn a_page_reads_a_bounded_number_of_bodies_and_says_how_many() {
    let bench = Bench::new();
    let options = Options {
        list_scan_max: 10,
        ..bench.options()
    };
    let store = SqliteStore::open(&bench.path(), options).unwrap();
    for number in 0..25 {
        for _ in 0..2 {
            accept(&store, bench.event(&number.to_string()).build())
                .await
                .unwrap();
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
}

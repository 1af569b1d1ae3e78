//! Setting the wall clock: deliveries are due when their time has passed, and leases last as long as they should.

use std::time::Duration;

use hapax_core::store::{Candidates, Claim, Report, Written};
use hapax_core::{AttemptOutcome, Leased, NewEvent, OnDead, Store};
use hapax_store_laws::clock::START;
use hapax_store_sqlite::SqliteStore;

use crate::bench::{Bench, accept, lease};

const HOURS: Duration = Duration::from_secs(5 * 3600);
const AFTER: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_wall_clock_that_is_set_back_delays_no_retry() {
    let bench = Bench::new();
    let store = bench.open();
    accept(&store, bench.event("one").to("sink").build())
        .await
        .unwrap();
    let leased = lease(&store, "sink", Candidates::Fresh).await.unwrap();
    let report = Report {
        hold: leased.hold(),
        attempt: None,
        outcome: AttemptOutcome::Retry { after: AFTER },
    };
    store.finish(vec![report]).await.unwrap();
    bench.clock.set(START.minus(HOURS));
    assert!(
        lease(&store, "sink", Candidates::Fresh).await.is_none(),
        "not yet"
    );
    bench.clock.advance(AFTER);
    assert!(lease(&store, "sink", Candidates::Fresh).await.is_some());
}

#[tokio::test]
async fn a_wall_clock_that_is_set_ahead_ends_no_lease() {
    let bench = Bench::new();
    let store = bench.open();
    accept(&store, bench.event("one").to("sink").build())
        .await
        .unwrap();
    lease(&store, "sink", Candidates::Fresh).await.unwrap();
    bench.clock.set(START.plus(HOURS));
    assert!(store.rescue(10).await.unwrap().is_empty());
    bench.clock.advance(Duration::from_secs(61));
    assert_eq!(store.rescue(10).await.unwrap().len(), 1);
}

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn what_waited_while_the_wall_clock_was_ahead_is_due_after_it_was_put_right_and_a_restart() {
    let bench = Bench::new();
    bench.clock.set(START.plus(DAY));
    let store = bench.open();
    for name in ["first", "second"] {
        accept_twice(&store, bench.event(name).to("sink").build()).await;
    }
    retry(&bench, &store, "tried").await;
    for name in ["head", "next"] {
        accept_twice(
            &store,
            bench
                .event(name)
                .in_lane("lanes", "customer", OnDead::Hold)
                .build(),
        )
        .await;
    }
    accept_twice(&store, bench.event("running").to("other").build()).await;
    lease(&store, "other", Candidates::Fresh).await.unwrap();
    store.close().await;

    bench.clock.set(START);
    let store = bench.open();
    accept_twice(&store, bench.event("new").to("sink").build()).await;
    let mut names = Vec::new();
    while let Some(leased) = lease(&store, "sink", Candidates::Fresh).await {
        names.push(leased.event.identity.event_id.clone());
    }
    assert_eq!(names, ["first", "second", "new"], "oldest first");
    assert!(lease(&store, "other", Candidates::Suspect).await.is_some());
    let head = lease(&store, "lanes", Candidates::Fresh).await.unwrap();
    assert_eq!(head.event.identity.event_id, "head");
    assert!(lease(&store, "lanes", Candidates::Fresh).await.is_none());
    complete(&store, &head).await;
    let next = lease(&store, "lanes", Candidates::Fresh).await.unwrap();
    assert_eq!(next.event.identity.event_id, "next");

    // A retry waits no longer than its delay.
    bench.clock.advance(AFTER);
    let tried = lease(&store, "sink", Candidates::Fresh).await.unwrap();
    assert_eq!(
        (tried.event.identity.event_id.as_str(), tried.attempt),
        ("tried", 2)
    );
}

#[tokio::test]
async fn a_crash_while_the_wall_clock_was_ahead_holds_back_nothing_either() {
    let bench = Bench::new();
    bench.clock.set(START.plus(DAY));
    for round in 0..3 {
        let store = bench.open();
        // Time that passes after the last write.
        bench.clock.advance(Duration::from_millis(700));
        let name = format!("evt_{round}");
        accept_twice(&store, bench.event(&name).to("sink").build()).await;
        drop(store);
    }
    bench.clock.set(START);
    let store = bench.open();
    for _ in 0..3 {
        assert!(lease(&store, "sink", Candidates::Fresh).await.is_some());
    }
}

#[tokio::test]
async fn what_waited_while_the_wall_clock_was_behind_is_due_after_it_was_put_right_and_a_restart() {
    let bench = Bench::new();
    bench.clock.set(START.minus(DAY));
    let store = bench.open();
    accept_twice(&store, bench.event("first").to("sink").build()).await;
    retry(&bench, &store, "tried").await;
    store.close().await;

    bench.clock.set(START);
    let store = bench.open();
    accept_twice(&store, bench.event("new").to("sink").build()).await;
    let mut names = Vec::new();
    while let Some(leased) = lease(&store, "sink", Candidates::Fresh).await {
        names.push(leased.event.identity.event_id.clone());
    }
    assert_eq!(names, ["first", "tried", "new"], "oldest first");
}

#[tokio::test]
async fn a_retry_keeps_its_time_over_a_restart_where_the_clock_was_right() {
    let bench = Bench::new();
    let store = bench.open();
    retry(&bench, &store, "tried").await;
    bench.clock.advance(AFTER / 2);
    store.close().await;
    let store = bench.open();
    assert!(lease(&store, "sink", Candidates::Fresh).await.is_none());
    bench.clock.advance(AFTER / 2);
    assert!(lease(&store, "sink", Candidates::Fresh).await.is_some());
}

#[tokio::test]
async fn a_file_of_an_earlier_version_that_was_written_ahead_of_the_clock_is_worked_off() {
    let bench = Bench::new();
    bench.clock.set(START.plus(DAY));
    let store = bench.open();
    accept_twice(&store, bench.event("first").to("sink").build()).await;
    store.close().await;
    let file = rusqlite::Connection::open(bench.path()).unwrap();
    file.execute("DELETE FROM meta WHERE key = 'moment'", []).unwrap();
    drop(file);
    bench.clock.set(START);
    let store = bench.open();
    assert!(lease(&store, "sink", Candidates::Fresh).await.is_some());
}

async fn accept_twice(store: &SqliteStore, event: NewEvent) {
    let copy = event.clone();
    assert!(matches!(accept(store, event).await.unwrap(), Claim::New { .. }));
    assert!(matches!(accept(store, copy).await.unwrap(), Claim::Seen(_)));
}

/// An event for `sink` that was attempted once and waits for a retry.
async fn retry(bench: &Bench, store: &SqliteStore, name: &str) {
    // Leased before any other delivery that waits there.
    let event = bench.event(name).to("sink").build();
    let id = event.id;
    accept_twice(store, event).await;
    let mut others = Vec::new();
    loop {
        let leased = lease(store, "sink", Candidates::Fresh).await.unwrap();
        let outcome = if leased.event.id == id {
            AttemptOutcome::Retry { after: AFTER }
        } else {
            AttemptOutcome::Release
        };
        let is_it = leased.event.id == id;
        others.push(Report {
            hold: leased.hold(),
            attempt: None,
            outcome,
        });
        if is_it {
            break;
        }
    }
    store.finish(others).await.unwrap();
}

async fn complete(store: &SqliteStore, leased: &Leased) {
    let report = Report {
        hold: leased.hold(),
        attempt: None,
        outcome: AttemptOutcome::Completed,
    };
    assert_eq!(store.finish(vec![report]).await.unwrap(), [Written::Applied]);
}

//! Finding few among many events without reading the others.

use std::time::Duration;

use hapax_core::store::{EventQuery, ListOrder, Report};
use hapax_core::{Attempt, AttemptOutcome, ErrorClass, EventStatus, NewEvent, Store as _, Timestamp};
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::Server;

use crate::bench::{LONG, Maker, lease, request};
use crate::planning::until_alone;

/// One event a minute.
const EVENTS: u32 = 4_000;
const MINUTE: Duration = Duration::from_secs(60);

fn minute(number: u32) -> Timestamp {
    Timestamp::from_seconds(1_800_000_000).plus(MINUTE * number)
}

async fn accept_twice(store: &PostgresStore, events: &[NewEvent]) {
    for _ in 0..2 {
        for answer in store.accept(events.iter().cloned().map(request).collect()).await {
            answer.unwrap();
        }
    }
}

/// Every matching event, page by page.
async fn all(store: &PostgresStore, query: &EventQuery, limit: u32) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.list(query, after, limit).await.unwrap();
        found.extend(page.events.into_iter().map(|event| event.event_id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

#[tokio::test]
async fn events_of_a_time_are_found_without_looking_at_those_before_and_after() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let client = database.client().await.unwrap();
    let store = PostgresStore::open(Options::new(database.url())).await.unwrap();
    let maker = Maker::default();
    let events: Vec<_> = (0..EVENTS)
        .map(|number| NewEvent {
            received_at: minute(number),
            deliveries: Vec::new(),
            ..maker.event(&number.to_string())
        })
        .collect();
    for batch in events.chunks(500) {
        accept_twice(&store, batch).await;
    }
    drop(store);
    until_alone(&client).await;
    // With a table this small, the server would read all of that index instead, which is not counted.
    client
        .batch_execute("DROP INDEX hapax.events_received")
        .await
        .unwrap();
    client.batch_execute("VACUUM ANALYZE").await.unwrap();
    client.batch_execute("SELECT pg_stat_reset()").await.unwrap();

    let store = PostgresStore::open(Options::new(database.url())).await.unwrap();
    let between = |since: u32, until: u32| EventQuery {
        since: Some(minute(since)),
        until: Some(minute(until)),
        ..EventQuery::default()
    };
    assert_eq!(all(&store, &between(100, 103), 50).await, ["102", "101", "100"]);
    assert_eq!(all(&store, &between(3_900, 3_902), 50).await, ["3901", "3900"]);
    drop(store);
    until_alone(&client).await;
    let read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'events'";
    let read: i64 = client.query_one(read, &[]).await.unwrap().get(0);
    assert!(
        read < i64::from(EVENTS),
        "{read} rows were read for five of {EVENTS} events"
    );
}

#[tokio::test]
async fn a_status_is_found_whether_little_or_much_is_unfinished() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let mut options = Options::new(database.url());
    options.list_scan_max = 10;
    let store = PostgresStore::open(options).await.unwrap();
    let maker = Maker::default();
    let events: Vec<_> = (0..30).map(|number| maker.event(&number.to_string())).collect();
    accept_twice(&store, &events).await;
    let of = |status| EventQuery {
        status: Some(status),
        ..EventQuery::default()
    };
    assert_eq!(all(&store, &of(EventStatus::Pending), 7).await.len(), 30);
    assert!(all(&store, &of(EventStatus::Failed), 7).await.is_empty());

    end(&store, 27, AttemptOutcome::Completed).await;
    assert_eq!(all(&store, &of(EventStatus::Pending), 2).await.len(), 3);
    end(&store, 1, AttemptOutcome::Retry { after: LONG }).await;
    assert_eq!(all(&store, &of(EventStatus::Pending), 2).await.len(), 2);
    assert_eq!(all(&store, &of(EventStatus::Failed), 2).await.len(), 1);
}

/// The server believes that nearly everything is unfinished, and that there is one source.
#[tokio::test]
async fn what_few_events_have_is_found_without_looking_at_the_others() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let client = database.client().await.unwrap();
    let store = PostgresStore::open(Options::new(database.url())).await.unwrap();
    let no_vacuum = "ALTER TABLE hapax.work SET (autovacuum_enabled = off);
                     ALTER TABLE hapax.events SET (autovacuum_enabled = off)";
    client.batch_execute(no_vacuum).await.unwrap();
    let maker = Maker::default();
    let events: Vec<_> = (0..EVENTS)
        .map(|number| maker.event(&number.to_string()))
        .collect();
    for batch in events.chunks(500) {
        accept_twice(&store, batch).await;
    }
    client.batch_execute("ANALYZE").await.unwrap();
    for _ in 0..EVENTS / 500 - 1 {
        end(&store, 500, AttemptOutcome::Completed).await;
    }
    end(&store, 497, AttemptOutcome::Completed).await;
    end(&store, 1, AttemptOutcome::Retry { after: LONG }).await;
    let rare: Vec<_> = (0..3)
        .map(|number| NewEvent {
            source: "rare".into(),
            deliveries: Vec::new(),
            ..maker.event(&format!("rare {number}"))
        })
        .collect();
    accept_twice(&store, &rare).await;
    drop(store);
    until_alone(&client).await;
    client.batch_execute("SELECT pg_stat_reset()").await.unwrap();

    let store = PostgresStore::open(Options::new(database.url())).await.unwrap();
    let of = |status| EventQuery {
        status: Some(status),
        ..EventQuery::default()
    };
    for order in [ListOrder::NewestFirst, ListOrder::OldestFirst] {
        let found = async |query| all(&store, &EventQuery { order, ..query }, 2).await.len();
        assert_eq!(found(of(EventStatus::Pending)).await, 2);
        assert_eq!(found(of(EventStatus::Failed)).await, 1);
        let of_source = EventQuery {
            source: Some("rare".into()),
            ..EventQuery::default()
        };
        assert_eq!(found(of_source).await, 3);
    }
    drop(store);
    until_alone(&client).await;
    let read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'events'";
    let read: i64 = client.query_one(read, &[]).await.unwrap().get(0);
    assert!(read < 200, "{read} rows were read for six of {EVENTS} events");
}

async fn end(store: &PostgresStore, count: u32, outcome: AttemptOutcome) {
    let leased = lease(store, count, LONG).await.leased;
    let attempt = Attempt {
        started_at: minute(0),
        duration_ms: 1,
        status: None,
        excerpt: String::new(),
        error: Some(ErrorClass::Timeout),
        message: None,
    };
    let reports = leased.iter().map(|leased| Report {
        hold: leased.hold(),
        attempt: Some(attempt.clone()),
        outcome,
    });
    store.finish(reports.collect()).await.unwrap();
}

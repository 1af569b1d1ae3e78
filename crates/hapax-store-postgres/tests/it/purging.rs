//! Purging alongside other replicas, and several sources at once.

use std::time::Duration;

use hapax_core::store::{PurgeOrder, PurgeWindow, Purged};
use hapax_core::{NewEvent, Store, Timestamp};
use hapax_store_postgres::PostgresStore;
use hapax_test_postgres::Server;

use crate::bench::{Maker, open, request};

const EVENTS: u32 = 1_000;
const HELD: u64 = 300;
const FAR: Timestamp = Timestamp::from_seconds(4_000_000_000);

#[tokio::test(flavor = "multi_thread")]
async fn what_another_replica_deletes_is_left_to_it_and_the_rest_goes() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    accept_twice(&store, "shop", EVENTS).await;
    let other = database.client().await.unwrap();
    let hold = |table: &str| format!("BEGIN; SELECT 1 FROM hapax.{table} LIMIT {HELD} FOR UPDATE");
    other.batch_execute(&hold("events")).await.unwrap();
    let rest = u64::from(EVENTS) - HELD;
    assert_eq!(until_nothing_more(&store, Timestamp::default()).await, (rest, 0));
    // The other purge rolls back: the events it had locked are deleted in the next pass.
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(until_nothing_more(&store, Timestamp::default()).await, (HELD, 0));

    other.batch_execute(&hold("ledger")).await.unwrap();
    assert_eq!(until_nothing_more(&store, FAR).await, (0, rest));
    other.batch_execute("ROLLBACK").await.unwrap();
    let mut late = 0;
    for _ in 0..2 {
        late += until_nothing_more(&store, FAR).await.1;
    }
    assert_eq!(late, HELD);
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_purge_at_once_delete_everything_once() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let replicas = [
        open(&database).await,
        open(&database).await,
        open(&database).await,
    ];
    accept_twice(&replicas[0], "shop", 2 * EVENTS).await;
    let runs = replicas.iter().map(|replica| until_nothing_more(replica, FAR));
    let purged = futures_util::future::join_all(runs).await;
    let sum = purged
        .iter()
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let all = u64::from(2 * EVENTS);
    assert_eq!(sum, (all, all), "{purged:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_behind_keeps_no_other_waiting() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let store = open(&database).await;
    for source in ["shop", "bank"] {
        accept_twice(&store, source, EVENTS).await;
    }
    store.purge(order(Timestamp::default())).await.unwrap();
    let client = database.client().await.unwrap();
    for source in ["shop", "bank"] {
        let count = "SELECT count(*) FROM hapax.events WHERE source = $1";
        let left: i64 = client.query_one(count, &[&source]).await.unwrap().get(0);
        assert!(left < i64::from(EVENTS), "nothing of {source} was deleted");
    }
}

/// Purges in small portions. Returns the number of deleted events and ledger entries.
async fn until_nothing_more(store: &PostgresStore, ledger_before: Timestamp) -> (u64, u64) {
    let mut sum = (0, 0);
    loop {
        let Purged { events, ledger, more } = store.purge(order(ledger_before)).await.unwrap();
        sum = (sum.0 + events, sum.1 + ledger);
        if !more {
            return sum;
        }
    }
}

fn order(ledger_before: Timestamp) -> PurgeOrder {
    let window = |source: &str| PurgeWindow {
        source: source.into(),
        payload_before: FAR,
        dead_before: FAR,
    };
    PurgeOrder {
        windows: vec![window("shop"), window("bank")],
        ledger_before,
        limit: 100,
    }
}

async fn accept_twice(store: &PostgresStore, source: &str, count: u32) {
    let maker = Maker::default();
    let events: Vec<NewEvent> = (0..count)
        .map(|number| NewEvent {
            source: source.into(),
            deliveries: Vec::new(),
            ledger_until: Timestamp::from_seconds(1_800_000_000).plus(Duration::from_secs(u64::from(number))),
            ..maker.event(&format!("{source}_{number}"))
        })
        .collect();
    for _ in 0..2 {
        for answer in store.accept(events.iter().cloned().map(request).collect()).await {
            answer.unwrap();
        }
    }
}

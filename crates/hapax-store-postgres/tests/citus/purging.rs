//! Purging distributed tables: each statement deletes many rows of one bucket.

use std::time::{Duration, Instant};

use hapax_core::store::{PurgeOrder, PurgeWindow};
use hapax_core::{NewEvent, Store, Timestamp};
use hapax_store_postgres::{Options, PostgresStore, Spread};
use hapax_test_postgres::Cluster;
use tokio_postgres::Client;

use crate::bench::{LONG, Maker, done, lease, request};
use crate::run;
use crate::subject::distribute;

/// Every test in this file.
pub(crate) const TESTS: &[(&str, fn())] = &[
    (
        "purging::expired_events_and_ledger_entries_go_in_few_statements",
        expired_events_and_ledger_entries_go_in_few_statements,
    ),
    (
        "purging::expired_events_and_ledger_entries_go_faster_than_they_came",
        expired_events_and_ledger_entries_go_faster_than_they_came,
    ),
];

const EVENTS: u32 = 4_000;
/// The limit of each call.
const PORTION: u32 = 500;
const FAR: Timestamp = Timestamp::from_seconds(4_000_000_000);
/// Citus counts statements from version 13.1 on, in sessions that enable it.
const COUNTED: &str = "options=-c%20citus.enable_stat_counters%3Don";

fn expired_events_and_ledger_entries_go_in_few_statements() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let client = cluster.client().await.unwrap();
        let store = spread(&cluster, &client).await;
        fill(&store).await;
        let filled = statements(&client).await;
        purge(&store).await;
        let purged = statements(&client).await - filled;
        let most = i64::from(EVENTS);
        // Zero would mean that nothing is counted.
        assert!(
            (1..most).contains(&purged),
            "{purged} statements for {EVENTS} events"
        );
    });
}

fn expired_events_and_ledger_entries_go_faster_than_they_came() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let client = cluster.client().await.unwrap();
        let store = spread(&cluster, &client).await;
        let came = time(fill(&store)).await;
        let went = time(purge(&store)).await;
        assert!(
            went < came,
            "{EVENTS} events were accepted in {came:?} and purged in {went:?}"
        );
    });
}

/// An empty store, distributed as the guide says.
pub(crate) async fn spread(cluster: &Cluster, client: &Client) -> PostgresStore {
    let remove = "DROP SCHEMA IF EXISTS hapax CASCADE";
    client.batch_execute(remove).await.unwrap();
    drop(PostgresStore::open(Options::new(cluster.url())).await.unwrap());
    distribute(client).await;
    let separator = if cluster.url().contains('?') { '&' } else { '?' };
    let url = format!("{}{separator}{COUNTED}", cluster.url());
    let store = PostgresStore::open(Options::new(url)).await.unwrap();
    assert_eq!(store.spread(), Spread::ByBucket);
    store
}

/// Accepts every event twice, and delivers it.
async fn fill(store: &PostgresStore) {
    let maker = Maker::default();
    let events: Vec<NewEvent> = (0..EVENTS)
        .map(|number| maker.event(&format!("evt_{number}")))
        .collect();
    for _ in 0..2 {
        for events in events.chunks(PORTION as usize) {
            for answer in store.accept(events.iter().cloned().map(request).collect()).await {
                answer.unwrap();
            }
        }
    }
    loop {
        let leased = lease(store, PORTION, LONG).await.leased;
        if leased.is_empty() {
            return;
        }
        let reports = leased.iter().map(|leased| done(leased.hold())).collect();
        store.finish(reports).await.unwrap();
    }
}

/// Purges all events and their ledger entries.
async fn purge(store: &PostgresStore) {
    let order = PurgeOrder {
        windows: vec![PurgeWindow {
            source: "shop".into(),
            payload_before: FAR,
            dead_before: FAR,
        }],
        ledger_before: FAR,
        limit: PORTION,
    };
    let (mut events, mut ledger, mut more) = (0, 0, true);
    while more {
        let purged = store.purge(order.clone()).await.unwrap();
        (events, ledger, more) = (events + purged.events, ledger + purged.ledger, purged.more);
    }
    assert_eq!((events, ledger), (u64::from(EVENTS), u64::from(EVENTS)));
}

/// The number of statements over the shards so far.
pub(crate) async fn statements(client: &Client) -> i64 {
    let counters = "SELECT query_execution_single_shard + query_execution_multi_shard
                    FROM citus_stat_counters WHERE name = current_database()";
    client.query_one(counters, &[]).await.unwrap().get(0)
}

async fn time(work: impl Future<Output = ()>) -> Duration {
    let began = Instant::now();
    work.await;
    began.elapsed()
}

//! The server plans a statement by its estimate of a table's size, and keeps the plan. A queue is empty now and holds a
//! million rows a minute later: a plan that reads a whole table or index must never be chosen.

use std::ops::Range;
use std::time::{Duration, Instant};

use hapax_core::{Leased, Store as _};
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::Server;
use tokio_postgres::Client;

use crate::bench::{LONG, Maker, done, lease, request};

const SHORT: Duration = Duration::from_millis(1);
const LIMIT: Duration = Duration::from_secs(30);
/// Enough for an index of more than one page.
const MANY: u32 = 3_000;
/// The server settles on a plan at the sixth run.
const ROUNDS: u32 = 20;
const FEW: u32 = 60;
const BATCH: u32 = 500;
/// How many times a lease looks for due deliveries.
const LOOKS: i64 = 2;
/// A row is changed three times before it is deleted, and each version has an entry until the next vacuum.
const VERSIONS: i64 = 5;

#[tokio::test]
async fn what_is_one_event_s_is_found_by_its_key_however_small_a_table_is_believed_to_be() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let client = database.client().await.unwrap();
    let mut options = Options::new(database.url());
    options.connections_max = 1;
    let maker = Maker::default();
    let before = PostgresStore::open(options.clone()).await.unwrap();
    accept_twice(&before, &maker, 0..MANY).await;
    finish(&before, MANY - FEW).await;
    // The index by time is nearly empty now; the one by key has entries left on each of its pages.
    client.batch_execute("VACUUM").await.unwrap();
    finish(&before, FEW).await;
    drop(before);
    until_alone(&client).await;
    client.batch_execute("SELECT pg_stat_reset()").await.unwrap();

    let store = PostgresStore::open(options).await.unwrap();
    // The server now knows that nothing is waiting; then deliveries arrive.
    client.batch_execute("ANALYZE").await.unwrap();
    accept_twice(&store, &maker, MANY..2 * MANY).await;
    for _ in 0..ROUNDS {
        finish(&store, FEW).await;
        finish(&store, 1).await;
        lease(&store, FEW, SHORT).await;
        rescue(&store, FEW).await;
    }
    drop(store);
    until_alone(&client).await;
    let whole = "SELECT relname || ': ' || seq_scan FROM pg_stat_user_tables
                 WHERE seq_scan > 0 AND relname IN ('ledger', 'events', 'work', 'outcomes', 'bodies', 'duplicates')";
    assert_eq!(
        lines(&client, whole).await,
        [""; 0],
        "tables that were read from end to end"
    );
    let due = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'work_due'";
    let looked: i64 = client.query_one(due, &[]).await.unwrap().get(0);
    let leases = i64::from(3 * ROUNDS);
    assert!(
        looked <= LOOKS * leases,
        "the index by time was used {looked} times in {leases} leases"
    );
    let through = format!(
        "SELECT indexrelname || ': ' || idx_scan || ' lookups read ' || idx_tup_read || ' entries'
         FROM pg_stat_user_indexes WHERE idx_tup_read > idx_scan * {VERSIONS} AND indexrelname LIKE '%pkey'"
    );
    assert_eq!(
        lines(&client, &through).await,
        [""; 0],
        "indices that were read through"
    );
}

async fn accept_twice(store: &PostgresStore, maker: &Maker, numbers: Range<u32>) {
    let events: Vec<_> = numbers
        .map(|number| maker.event(&format!("evt_{number}")))
        .collect();
    for _ in 0..2 {
        for answer in store.accept(events.iter().cloned().map(request).collect()).await {
            answer.unwrap();
        }
    }
}

/// Leases, extends and finishes this many due deliveries.
async fn finish(store: &PostgresStore, count: u32) {
    let mut left = count;
    while left > 0 {
        let leased = lease(store, left.min(BATCH), LONG).await.leased;
        left -= u32::try_from(leased.len()).unwrap();
        let holds = leased.iter().map(Leased::hold).collect();
        store.extend(holds, LONG).await.unwrap();
        let reports = leased.iter().map(|leased| done(leased.hold())).collect();
        store.finish(reports).await.unwrap();
    }
}

/// Takes this many deliveries back from a holder whose leases have expired.
async fn rescue(store: &PostgresStore, count: u32) {
    let mut left = count as usize;
    while left > 0 {
        left -= store.rescue(count).await.unwrap().len();
    }
}

async fn lines(client: &Client, query: &str) -> Vec<String> {
    let rows = client.query(query, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Waits until the store's connections are closed: that is when they report their statistics.
pub(crate) async fn until_alone(client: &Client) {
    let others = "SELECT count(*) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
    let started = Instant::now();
    while client.query_one(others, &[]).await.unwrap().get::<_, i64>(0) > 0 {
        assert!(started.elapsed() < LIMIT, "the store's connection is still open");
        tokio::task::yield_now().await;
    }
}

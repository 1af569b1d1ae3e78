//! `hapax.work` is vacuumed as often as its rows turn over.

use std::time::{Duration, Instant};

use hapax_core::Store as _;
use hapax_store_postgres::{Options, PostgresStore};
use hapax_test_postgres::Server;

use crate::bench::{LONG, Maker, accept, done, lease};

const LIMIT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn finished_work_is_vacuumed_away_without_waiting_for_autovacuum() {
    let server = Server::shared().unwrap();
    let database = server.database().await.unwrap();
    let client = database.client().await.unwrap();
    let mut options = Options::new(database.url());
    options.vacuum_after = 40;
    let store = PostgresStore::open(options).await.unwrap();
    let maker = Maker::default();
    let vacuums = async || -> i64 {
        let count = "SELECT vacuum_count FROM pg_stat_user_tables WHERE relid = 'hapax.work'::regclass";
        client.query_one(count, &[]).await.unwrap().get(0)
    };
    for number in 0..39 {
        finish_one(&store, &maker, number).await;
    }
    assert_eq!(vacuums().await, 0, "not before it is worth it");
    finish_one(&store, &maker, 39).await;
    let started = Instant::now();
    while vacuums().await == 0 {
        assert!(started.elapsed() < LIMIT, "it was never vacuumed");
        tokio::task::yield_now().await;
    }
}

async fn finish_one(store: &PostgresStore, maker: &Maker, number: u32) {
    let event = maker.event(&format!("evt_{number}"));
    for _ in 0..2 {
        accept(store, event.clone()).await.unwrap();
    }
    let leased = lease(store, 1, LONG).await.leased;
    store.finish(vec![done(leased[0].hold())]).await.unwrap();
}

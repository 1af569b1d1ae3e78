//! How the guide distributes the tables, and what is detected if it was not followed.

use std::time::Duration;

use hapax_core::Secret;
use hapax_store_postgres::{Connector, Distribution, Options, PostgresStore, SCHEMA_VERSION, Spread};
use hapax_test_postgres::Cluster;
use tokio_postgres::Client;

use crate::run;
use crate::subject::distribute;

/// Every test in this file.
pub(crate) const TESTS: &[(&str, fn())] = &[
    (
        "spread::every_table_is_spread_over_all_workers",
        every_table_is_spread_over_all_workers,
    ),
    (
        "spread::a_database_without_workers_keeps_all_shards_to_itself_and_is_found_out",
        a_database_without_workers_keeps_all_shards_to_itself_and_is_found_out,
    ),
    (
        "spread::a_store_that_is_spread_is_migrated_in_place",
        a_store_that_is_spread_is_migrated_in_place,
    ),
];

/// The migrations up to version 4; later ones change tables that are already distributed.
const OLD: [&str; 4] = [
    include_str!("../../src/migrations/0001_initial.sql"),
    include_str!("../../src/migrations/0002_source_states.sql"),
    include_str!("../../src/migrations/0003_looking.sql"),
    include_str!("../../src/migrations/0004_alerts.sql"),
];

/// A database on the coordinator that knows no worker.
const ALONE: &str = "hapax_test_alone";

fn every_table_is_spread_over_all_workers() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let found = spread(cluster.url()).await;
        assert_eq!(found.not_spread, []);
        assert!(found.by_bucket >= 15 && found.everywhere >= 9, "{found:?}");
        let workers: Vec<_> = found.nodes.iter().filter(|node| !node.is_coordinator).collect();
        assert!(workers.len() >= 2, "{found:?}");
        assert!(workers.iter().all(|worker| worker.shards > 0), "{found:?}");
        assert_eq!(
            workers.iter().map(|worker| worker.shards).sum::<u64>(),
            found.shards
        );
        let store = PostgresStore::open(Options::new(cluster.url())).await.unwrap();
        assert_eq!(store.spread(), Spread::ByBucket);
    });
}

fn a_database_without_workers_keeps_all_shards_to_itself_and_is_found_out() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let admin = cluster.client().await.unwrap();
        let drop_it = format!("DROP DATABASE IF EXISTS {ALONE} WITH (FORCE)");
        admin.batch_execute(&drop_it).await.unwrap();
        admin
            .batch_execute(&format!("CREATE DATABASE {ALONE}"))
            .await
            .unwrap();
        let url = cluster.url_of(ALONE);
        client(&url)
            .await
            .batch_execute("CREATE EXTENSION citus")
            .await
            .unwrap();
        let found = spread(&url).await;
        assert_eq!(found.not_spread, []);
        let with_shards: Vec<_> = found.nodes.iter().filter(|node| node.shards > 0).collect();
        assert!(
            matches!(with_shards[..], [only] if only.is_coordinator && only.shards == found.shards),
            "{found:?}"
        );
        admin.batch_execute(&drop_it).await.unwrap();
    });
}

fn a_store_that_is_spread_is_migrated_in_place() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let client = cluster.client().await.unwrap();
        let remove = "DROP SCHEMA IF EXISTS hapax CASCADE";
        client.batch_execute(remove).await.unwrap();
        for migration in OLD {
            client.batch_execute(migration).await.unwrap();
        }
        let set_version = "UPDATE hapax.meta SET value = 4 WHERE key = 'schema_version'";
        client.batch_execute(set_version).await.unwrap();
        distribute(&client).await;
        drop(PostgresStore::open(Options::new(cluster.url())).await.unwrap());
        let version = "SELECT value FROM hapax.meta WHERE key = 'schema_version'";
        let version: i64 = client.query_one(version, &[]).await.unwrap().get(0);
        assert_eq!(version, i64::from(SCHEMA_VERSION));
    });
}

/// Creates the tables, distributes them as the guide says, and reads the result.
async fn spread(url: &str) -> Distribution {
    drop(PostgresStore::open(Options::new(url)).await.unwrap());
    let client = client(url).await;
    distribute(&client).await;
    Distribution::of(&client).await.unwrap().unwrap()
}

async fn client(url: &str) -> Client {
    let timeout = Duration::from_secs(10);
    let connector = Connector::new(&Secret::new(url), timeout, timeout).unwrap();
    connector.connect().await.unwrap().client
}

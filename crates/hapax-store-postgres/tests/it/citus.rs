//! Distributing the tables over several servers: the SQL in the guide, and how the store detects it.

use std::collections::BTreeSet;

use hapax_core::store::Claim;
use hapax_store_postgres::{Options, PostgresStore, Spread};
use hapax_test_postgres::Server;

use crate::bench::{Maker, accept, open};

const SQL: &str = include_str!("../../src/citus.sql");
const GUIDE: &str = include_str!("../../../../docs/guides/citus.md");

#[test]
fn the_guide_quotes_the_sql_as_it_is() {
    let mut quoted = String::new();
    for line in GUIDE.lines() {
        quoted.push_str(line.strip_prefix("   ").unwrap_or(line));
        quoted.push('\n');
    }
    assert!(
        quoted.contains(SQL),
        "docs/guides/citus.md and src/citus.sql differ"
    );
}

#[test]
fn the_guide_counts_the_tables_right() {
    let count = |call: &str| SQL.matches(call).count();
    let (spread, everywhere) = (
        count("create_distributed_table("),
        count("create_reference_table("),
    );
    for line in [
        format!("citus: {spread} tables are distributed over 8 shards, {everywhere} are on every node;"),
        format!("-- {spread} distributed tables with 8 shards, {everywhere} reference tables."),
    ] {
        assert!(GUIDE.contains(&line), "docs/guides/citus.md does not say: {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_table_with_a_bucket_is_spread_by_it_and_every_other_but_the_owners_is_everywhere() {
    let database = Server::shared().unwrap().database().await.unwrap();
    drop(open(&database).await);
    let admin = database.client().await.unwrap();
    let tables = "SELECT t.table_name::text, bool_or(c.column_name = 'bucket')
                  FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name)
                  WHERE t.table_schema = 'hapax' AND t.table_name <> 'owners' GROUP BY 1";
    let mut expected = BTreeSet::new();
    for row in admin.query(tables, &[]).await.unwrap() {
        let (name, has_bucket): (String, bool) = (row.get(0), row.get(1));
        expected.insert(if has_bucket {
            format!("SELECT create_distributed_table('hapax.{name}', 'bucket'")
        } else {
            format!("SELECT create_reference_table('hapax.{name}')")
        });
    }
    let found: BTreeSet<String> = SQL
        .lines()
        .filter(|line| line.starts_with("SELECT"))
        .map(|line| line.split_once(", colocate_with").map_or(line, |(call, _)| call))
        .map(|call| call.trim_end_matches(';').to_owned())
        .collect();
    assert_eq!(found, expected);
}

/// Citus provides this catalogue; here a table stands in for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_finds_out_by_itself_whether_its_tables_are_spread() {
    let database = Server::shared().unwrap().database().await.unwrap();
    assert_eq!(open(&database).await.spread(), Spread::Whole);
    let admin = database.client().await.unwrap();
    admin
        .batch_execute(
            "SET allow_system_table_mods = on;
             CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod \"char\")",
        )
        .await
        .unwrap();
    assert_eq!(
        open(&database).await.spread(),
        Spread::Whole,
        "nothing is spread yet"
    );
    admin
        .batch_execute("INSERT INTO pg_catalog.pg_dist_partition VALUES ('hapax.work', 'h')")
        .await
        .unwrap();
    let store = PostgresStore::open(Options::new(database.url())).await.unwrap();
    assert_eq!(store.spread(), Spread::ByBucket);
    let event = Maker::default().event("evt_1");
    assert!(matches!(
        accept(&store, event.clone()).await.unwrap(),
        Claim::New { .. }
    ));
    assert!(matches!(accept(&store, event).await.unwrap(), Claim::Seen(_)));
}

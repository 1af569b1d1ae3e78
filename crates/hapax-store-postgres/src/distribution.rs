//! How Citus has distributed the tables, for `hapax doctor`.

use tokio_postgres::{Client, Error};

use crate::bind::{Column, bind};

/// The statements that the guide tells operators to run: one line per table.
const SPREADING: &str = include_str!("citus.sql");

const CATALOGUE: &str = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL";

// Distributed by hash of the bucket, or replicated to every node.
const SPREAD: &str = "
    SELECT t.name FROM unnest($1::text[], $2::bool[]) AS t (name, everywhere)
    JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = to_regclass(t.name)
    WHERE CASE WHEN t.everywhere THEN p.partmethod = 'n' AND p.repmodel = 't' ELSE p.partmethod = 'h' END";

// All tables are distributed alike, so one stands for all.
const SHARDS: &str =
    "SELECT count(*) FROM pg_catalog.pg_dist_shard WHERE logicalrelid = to_regclass('hapax.ledger')";

const NODES: &str = "
    SELECT n.nodename || ':' || n.nodeport, n.groupid = 0, count(s.shardid)
    FROM pg_catalog.pg_dist_node n
    LEFT JOIN pg_catalog.pg_dist_placement p ON p.groupid = n.groupid
    LEFT JOIN pg_catalog.pg_dist_shard s ON s.shardid = p.shardid AND s.logicalrelid = to_regclass('hapax.ledger')
    WHERE n.noderole::text = 'primary' GROUP BY n.nodename, n.nodeport, n.groupid ORDER BY n.groupid";

/// Where the tables are, on a server that has Citus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    /// The number of tables distributed by bucket.
    pub by_bucket: usize,
    /// The number of tables replicated to every node.
    pub everywhere: usize,
    /// Tables that are neither.
    pub not_spread: Vec<NotSpread>,
    /// The number of shards of a table distributed by bucket.
    pub shards: u64,
    /// The servers that this database knows.
    pub nodes: Vec<Node>,
}

/// A table that should be distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSpread {
    pub table: &'static str,
    /// The statement that distributes it.
    pub statement: &'static str,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Host and port.
    pub address: String,
    /// Whether replicas connect to it.
    pub is_coordinator: bool,
    /// The number of shards of each table on it.
    pub shards: u64,
}

impl Distribution {
    /// Reads the distribution; `None` if this database does not have Citus.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn of(client: &Client) -> Result<Option<Self>, Error> {
        for row in client.query_typed(CATALOGUE, &[]).await? {
            if !row.try_get::<_, bool>(0)? {
                return Ok(None);
            }
        }
        let tables: Vec<_> = tables().collect();
        let names: Column<&str> = tables.iter().map(|(table, _)| table.table).collect();
        let everywhere: Column<bool> = tables.iter().map(|(_, everywhere)| *everywhere).collect();
        let mut spread = Vec::new();
        for row in client.query_typed(SPREAD, bind![names, everywhere]).await? {
            spread.push(row.try_get::<_, String>(0)?);
        }
        let mut found = Self {
            by_bucket: 0,
            everywhere: 0,
            not_spread: Vec::new(),
            shards: 0,
            nodes: Vec::new(),
        };
        for (table, everywhere) in tables {
            match (spread.iter().any(|name| name == table.table), everywhere) {
                (true, true) => found.everywhere += 1,
                (true, false) => found.by_bucket += 1,
                (false, _) => found.not_spread.push(table),
            }
        }
        for row in client.query_typed(SHARDS, &[]).await? {
            found.shards = row.try_get::<_, i64>(0)? as u64;
        }
        for row in client.query_typed(NODES, &[]).await? {
            found.nodes.push(Node {
                address: row.try_get(0)?,
                is_coordinator: row.try_get(1)?,
                shards: row.try_get::<_, i64>(2)? as u64,
            });
        }
        Ok(Some(found))
    }
}

/// Every table, and whether it is replicated to every node.
fn tables() -> impl Iterator<Item = (NotSpread, bool)> {
    SPREADING.lines().filter_map(|statement| {
        let table = statement.split('\'').nth(1)?;
        let everywhere = statement.contains("create_reference_table");
        Some((NotSpread { table, statement }, everywhere))
    })
}

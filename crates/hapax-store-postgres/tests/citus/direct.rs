//! New events are written on the workers, and are found wherever their shards go.

use std::collections::HashSet;

use hapax_core::store::Claim;
use hapax_core::{NewEvent, Store};
use hapax_store_postgres::{Options, PostgresStore, Preparing};
use hapax_test_postgres::Cluster;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::bench::{LONG, Maker, lease, request};
use crate::purging::{spread, statements};
use crate::run;

/// Every test in this file.
pub(crate) const TESTS: &[(&str, fn())] = &[
    (
        "direct::new_events_and_duplicates_need_no_statement_of_the_coordinator",
        new_events_and_duplicates_need_no_statement_of_the_coordinator,
    ),
    (
        "direct::events_are_neither_lost_nor_accepted_twice_while_their_shard_moves",
        events_are_neither_lost_nor_accepted_twice_while_their_shard_moves,
    ),
    (
        "direct::a_store_that_may_not_use_the_workers_finds_what_they_wrote",
        a_store_that_may_not_use_the_workers_finds_what_they_wrote,
    ),
];

/// Enough for every bucket.
const EVENTS: u32 = 600;

fn new_events_and_duplicates_need_no_statement_of_the_coordinator() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let client = cluster.client().await.unwrap();
        let store = spread(&cluster, &client).await;
        let before = statements(&client).await;
        let events = events("direct");
        assert_eq!(accept(&store, &events).await, EVENTS as usize);
        assert_eq!(accept(&store, &events).await, 0);
        assert_eq!(statements(&client).await, before);
        let counts = store.counts().await.unwrap();
        let ledger: u64 = counts.ledger.iter().map(|scope| scope.entries).sum();
        assert_eq!((counts.events, ledger), (u64::from(EVENTS), u64::from(EVENTS)));
        // Zero would mean that nothing is counted.
        assert!(statements(&client).await > before);
    });
}

fn events_are_neither_lost_nor_accepted_twice_while_their_shard_moves() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let client = cluster.client().await.unwrap();
        let store = spread(&cluster, &client).await;
        let (before, during) = (events("before"), events("during"));
        assert_eq!(accept(&store, &before).await, EVENTS as usize);
        for _ in 0..2 {
            let (moved, accepted) = tokio::join!(move_a_shard(&client), accept(&store, &during));
            moved.unwrap();
            assert!(accepted == EVENTS as usize || accepted == 0, "{accepted}");
            assert_eq!(accept(&store, &before).await, 0);
            assert_eq!(accept(&store, &during).await, 0);
        }
        let stored = "SELECT count(*) FROM hapax.events";
        let stored: i64 = client.query_one(stored, &[]).await.unwrap().get(0);
        assert_eq!(stored, 2 * i64::from(EVENTS));
        let mut leased = Vec::new();
        for _ in 0..4 {
            leased.extend(lease(&store, EVENTS, LONG).await.leased);
        }
        let tokens: HashSet<_> = leased.iter().map(|leased| leased.token).collect();
        assert_eq!(
            (leased.len(), tokens.len()),
            (2 * EVENTS as usize, 2 * EVENTS as usize)
        );
    });
}

fn a_store_that_may_not_use_the_workers_finds_what_they_wrote() {
    run(async || {
        let cluster = Cluster::join().await.unwrap();
        let client = cluster.client().await.unwrap();
        let store = spread(&cluster, &client).await;
        let (first, second) = (events("first"), events("second"));
        // As behind a pooler.
        let mut options = Options::new(cluster.url());
        options.preparing = Preparing::Never;
        let pooled = PostgresStore::open(options).await.unwrap();
        assert_eq!(accept(&store, &first).await, EVENTS as usize);
        assert_eq!(accept(&pooled, &first).await, 0);
        assert_eq!(accept(&pooled, &second).await, EVENTS as usize);
        assert_eq!(accept(&store, &second).await, 0);
    });
}

fn events(name: &str) -> Vec<NewEvent> {
    let maker = Maker::default();
    let events = (0..EVENTS).map(|number| maker.event(&format!("{name}_{number}")));
    events.collect()
}

/// Accepts events in batches, and returns how many were new.
async fn accept(store: &PostgresStore, events: &[NewEvent]) -> usize {
    let mut new = 0;
    for events in events.chunks(50) {
        for answer in store.accept(events.iter().cloned().map(request).collect()).await {
            let claims = answer.unwrap();
            new += claims
                .iter()
                .filter(|claim| matches!(claim, Claim::New { .. }))
                .count();
        }
    }
    new
}

/// Moves one shard, with all that belong to it, to another worker.
async fn move_a_shard(client: &Client) -> Result<(), tokio_postgres::Error> {
    let first = "
        SELECT s.shardid, n.nodename::text, n.nodeport, o.nodename::text, o.nodeport
        FROM pg_dist_shard s
        JOIN pg_dist_placement p USING (shardid)
        JOIN pg_dist_node n ON n.groupid = p.groupid
        JOIN pg_dist_node o ON o.groupid NOT IN (0, n.groupid)
        WHERE s.logicalrelid = 'hapax.ledger'::regclass ORDER BY s.shardid, o.groupid LIMIT 1";
    let row = client.query_one(first, &[]).await?;
    let (shard, from, from_port): (i64, String, i32) = (row.get(0), row.get(1), row.get(2));
    let (to, to_port): (String, i32) = (row.get(3), row.get(4));
    let move_it = "SELECT citus_move_shard_placement($1, $2, $3, $4, $5, 'block_writes')";
    let params: [&(dyn ToSql + Sync); 5] = [&shard, &from, &from_port, &to, &to_port];
    client.query_one(move_it, &params).await.map(drop)
}

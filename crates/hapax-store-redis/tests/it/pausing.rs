//! Pauses reach every shard, even if a process dies or another interferes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::store::Pause;
use hapax_core::{Operations, Timestamp};
use hapax_store_redis::RedisStore;
use hapax_test_redis::{Cluster, Server, fresh_prefix};

use crate::bench::{Maker, accept_again, accept_new, keys, keys_of_cluster, lease, open};

const SHARDS: usize = 4;
const CLUSTER_SHARDS: u8 = 8;
/// How long a pause may take to reach the first shard.
const PAUSE_MAX: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_pause_that_reached_some_shards_reaches_all_when_a_store_is_opened() {
    let (server, prefix, url) = place();
    let store = open(&url).await;
    fill(&store).await;
    store.pause(pause(0)).await.unwrap();
    for names in keys(&server, &prefix, "p").iter().skip(1) {
        server.call(&["DEL", names]).unwrap();
    }
    assert!(
        !lease(&store, "billing", 100).await.is_empty(),
        "a half-finished pause lets deliveries through"
    );
    let opened = open(&url).await;
    assert_eq!(keys(&server, &prefix, "p").len(), SHARDS);
    fill_more(&opened).await;
    assert!(lease(&opened, "billing", 100).await.is_empty());
}

#[tokio::test]
async fn what_a_resume_left_behind_is_cleared_when_a_store_is_opened() {
    let (server, prefix, url) = place();
    let store = open(&url).await;
    fill(&store).await;
    store.pause(pause(0)).await.unwrap();
    for said in keys(&server, &prefix, "P") {
        server.call(&["DEL", &said]).unwrap();
    }
    assert!(lease(&store, "billing", 100).await.is_empty());
    let opened = open(&url).await;
    assert!(keys(&server, &prefix, "p").is_empty());
    assert_eq!(lease(&opened, "billing", 100).await.len(), EVENTS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_that_was_resumed_while_it_reached_the_shards_is_in_none_of_them() {
    let cluster = Cluster::start(&[]).unwrap();
    let prefix = fresh_prefix();
    let store = Arc::new(open(&cluster.url_with(&prefix, CLUSTER_SHARDS)).await);
    let first_tag = format!("{{{prefix}:0.");
    let shards = keys_of_cluster(&cluster, &prefix, "m");
    let (home, _) = shards
        .iter()
        .find(|(_, key)| key.starts_with(&first_tag))
        .unwrap();
    let (home, slow) = (&cluster.nodes()[*home], &cluster.nodes()[(home + 1) % 3]);
    slow.freeze().unwrap();
    let pauser = Arc::clone(&store);
    let pausing = tokio::spawn(async move { pauser.pause(pause(0)).await });
    let end = Instant::now() + PAUSE_MAX;
    while keys(home, &prefix, "p").is_empty() && Instant::now() < end {}
    // Another process resumes it now, and finishes before the slow server writes.
    for key in [keys(home, &prefix, "P"), keys(home, &prefix, "p")].concat() {
        home.call(&["DEL", &key]).unwrap();
    }
    slow.thaw().unwrap();
    pausing.await.unwrap().unwrap();
    assert!(keys_of_cluster(&cluster, &prefix, "p").is_empty());
    assert_eq!(store.pauses().await.unwrap(), []);
}

#[tokio::test]
async fn a_resume_reaches_every_shard() {
    let (server, prefix, url) = place();
    let store = open(&url).await;
    fill(&store).await;
    store.pause(pause(0)).await.unwrap();
    assert_eq!(keys(&server, &prefix, "p").len(), SHARDS);
    assert!(store.resume(&"billing".into()).await.unwrap());
    assert!(keys(&server, &prefix, "p").is_empty());
    assert_eq!(lease(&store, "billing", 100).await.len(), EVENTS);
}

const EVENTS: usize = 24;

fn place() -> (Server, String, String) {
    let server = Server::shared().unwrap();
    let prefix = fresh_prefix();
    let url = format!("{}&shards={SHARDS}", server.url_with_prefix(&prefix));
    (server, prefix, url)
}

/// Enough events for every shard.
async fn fill(store: &RedisStore) {
    accept_all(store, "evt").await;
}

async fn fill_more(store: &RedisStore) {
    accept_all(store, "more").await;
}

async fn accept_all(store: &RedisStore, name: &str) {
    let maker = Maker::default();
    for number in 0..EVENTS {
        let event = maker.event(&format!("{name}_{number}"));
        accept_new(store, &event).await;
        accept_again(store, &event).await;
    }
}

fn pause(round: i64) -> Pause {
    Pause {
        destination: "billing".into(),
        at: Timestamp::from_seconds(round),
        by: "ops".to_owned(),
        why: "an upgrade".to_owned(),
    }
}

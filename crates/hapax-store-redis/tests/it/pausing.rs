//! Pauses reach every shard, whoever dies or hurries in between.

use std::sync::Arc;

use hapax_core::store::Pause;
use hapax_core::{Operations, Timestamp};
use hapax_store_redis::RedisStore;
use hapax_test_redis::{Server, fresh_prefix};

use crate::bench::{Maker, accept_again, accept_new, keys, lease, open};

const SHARDS: usize = 4;
const ROUNDS: i64 = 20;
/// Who pauses at once, and who resumes.
const HANDS: usize = 4;

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
        "half a pause lets something through"
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
async fn pausing_and_resuming_at_once_leaves_all_shards_of_one_mind() {
    let (server, prefix, url) = place();
    let stores = [Arc::new(open(&url).await), Arc::new(open(&url).await)];
    for round in 0..ROUNDS {
        let mut hurrying = tokio::task::JoinSet::new();
        for hand in 0..HANDS {
            let (pauser, resumer) = (Arc::clone(&stores[hand % 2]), Arc::clone(&stores[1 - hand % 2]));
            hurrying.spawn(async move { pauser.pause(pause(round)).await.unwrap() });
            hurrying.spawn(async move {
                resumer.resume(&"billing".into()).await.unwrap();
            });
        }
        hurrying.join_all().await;
        let said = stores[0].pauses().await.unwrap().len();
        let names = keys(&server, &prefix, "p").len();
        assert_eq!(names, said * SHARDS, "round {round}");
    }
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

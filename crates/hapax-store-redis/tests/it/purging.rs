//! Purging alongside other replicas, and without reading events that are too young.

use std::time::Duration;

use hapax_core::store::{AcceptRequest, PurgeOrder, PurgeWindow, Purged};
use hapax_core::{NewEvent, Store, Timestamp};
use hapax_store_laws::clock::START;
use hapax_store_redis::{Options, RedisStore};
use hapax_test_redis::{Cluster, Server, fresh_prefix};

use crate::bench::{Maker, open};

const EVENTS: u32 = 600;
const SHARDS: u8 = 8;
const RECEIVED: Timestamp = START;
const FAR: Timestamp = Timestamp::from_seconds(4_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);
const HALF_AN_HOUR: Duration = Duration::from_secs(1_800);

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_purge_at_once_delete_everything_once() {
    let cluster = Cluster::shared().unwrap();
    let url = cluster.url_with(&fresh_prefix(), SHARDS);
    let replicas = [open(&url).await, open(&url).await];
    accept_twice(&replicas[0]).await;
    let everything = order(FAR, FAR);
    let (one, other) = tokio::join!(
        until_nothing_more(&replicas[0], &everything),
        until_nothing_more(&replicas[1], &everything)
    );
    let all = u64::from(EVENTS);
    assert_eq!(
        (one.0 + other.0, one.1 + other.1),
        (all, all),
        "{one:?}, {other:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_young_is_not_looked_at() {
    let server = Server::shared().unwrap();
    let options = Options {
        purge_scan_max: 50,
        ..Options::new(server.url_with_prefix(&fresh_prefix()))
    };
    let store = RedisStore::open(options).await.unwrap();
    accept_twice(&store).await;
    // The ledger's list of this hour has all of them.
    let early = order(RECEIVED.minus(MINUTE), RECEIVED.plus(MINUTE));
    let purged = store.purge(early).await.unwrap();
    assert_eq!(purged, Purged::default());
    let all = u64::from(EVENTS);
    let payloads = order(FAR, Timestamp::default());
    assert_eq!(until_nothing_more(&store, &payloads).await, (all, 0));
    let ledger = order(FAR, FAR);
    assert_eq!(until_nothing_more(&store, &ledger).await, (0, all));
}

/// Purges in small portions. Returns the number of deleted events and ledger entries.
async fn until_nothing_more(store: &RedisStore, order: &PurgeOrder) -> (u64, u64) {
    let mut sum = (0, 0);
    loop {
        let Purged { events, ledger, more } = store.purge(order.clone()).await.unwrap();
        sum = (sum.0 + events, sum.1 + ledger);
        if !more {
            return sum;
        }
    }
}

fn order(payload_before: Timestamp, ledger_before: Timestamp) -> PurgeOrder {
    PurgeOrder {
        windows: vec![PurgeWindow {
            source: "shop".into(),
            payload_before,
            dead_before: payload_before,
        }],
        ledger_before,
        limit: 100,
    }
}

async fn accept_twice(store: &RedisStore) {
    let maker = Maker::default();
    let events: Vec<NewEvent> = (0..EVENTS)
        .map(|number| NewEvent {
            deliveries: Vec::new(),
            ledger_until: RECEIVED.plus(HALF_AN_HOUR),
            ..maker.event(&format!("evt_{number}"))
        })
        .collect();
    for _ in 0..2 {
        let requests = events
            .iter()
            .cloned()
            .map(|event| AcceptRequest { events: vec![event] });
        for answer in store.accept(requests.collect()).await {
            answer.unwrap();
        }
    }
}

//! A master that dies: stores that are opened during the failover, scripts that the next master does not know, and how
//! long it takes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::delivery::FirstLease;
use hapax_core::store::Claim;
use hapax_core::{NewDelivery, NewEvent, Owner};
use hapax_store_redis::{OpenError, Options, RedisStore};
use hapax_test_redis::{Cluster, Server, fresh_prefix};

use crate::bench::{LONG, Maker, accept, accept_again, accept_new, finish, keys_of_cluster, lease, open};

const SHARDS: u8 = 8;

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_opened_during_a_failover_waits_for_the_next_master() {
    let cluster = Cluster::start(&[]).unwrap();
    let url = cluster.url_with(&fresh_prefix(), SHARDS);
    let event = Maker::default().event("evt_1");
    accept_new(&open(&url).await, &event).await;
    for third in 0..2 {
        let killed = cluster.kill_master(third).unwrap();
        let store = RedisStore::open(Options::new(&url)).await;
        let store = store.unwrap_or_else(|error| panic!("master {killed} was killed: {error}"));
        accept_again(&store, &event).await;
        let next = Maker::default().event(&format!("after_{third}"));
        accept_new(&store, &next).await;
        accept_again(&store, &next).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_stays_without_a_master_is_refused_in_time_and_said_to_be() {
    let cluster = Cluster::start(&[]).unwrap();
    let url = cluster.url_with(&fresh_prefix(), SHARDS);
    drop(open(&url).await);
    for node in cluster.nodes() {
        node.call(&["CONFIG", "SET", "cluster-replica-no-failover", "yes"])
            .unwrap();
    }
    cluster.kill_master(0).unwrap();
    let began = Instant::now();
    let options = Options {
        open_timeout: Duration::from_secs(2),
        call_timeout: Duration::from_secs(1),
        ..Options::new(&url)
    };
    let refused = RedisStore::open(options).await.unwrap_err();
    assert!(matches!(refused, OpenError::NoMaster { .. }), "{refused}");
    assert!(
        refused.to_string().contains("redis-cli --cluster check"),
        "{refused}"
    );
    let took = began.elapsed();
    assert!(took < Duration::from_secs(10), "it took {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_not_known_at_the_end_of_a_calls_time_is_sent_all_the_same() {
    let server = Server::start(&[]).unwrap();
    let options = Options {
        call_timeout: Duration::from_secs(4),
        ..Options::new(server.url())
    };
    let store = Arc::new(RedisStore::open(options).await.unwrap());
    let maker = Maker::default();
    // Often enough to have used every connection.
    for number in 0..10 {
        accept_new(&store, &maker.event(&format!("before_{number}"))).await;
    }
    server.call(&["SCRIPT", "FLUSH"]).unwrap();
    server.freeze().unwrap();
    let event = maker.event("evt_1");
    let accepting = tokio::spawn({
        let (store, event) = (Arc::clone(&store), event.clone());
        async move { accept(&store, &event).await }
    });
    // The time itself is under test: a twentieth of it is left.
    tokio::time::sleep(Duration::from_millis(3_800)).await;
    server.thaw().unwrap();
    let claim = accepting.await.unwrap().unwrap();
    assert!(matches!(claim, Claim::New { .. }), "{claim:?}");
    accept_again(&store, &event).await;
    let leased = lease(&store, "billing", 100).await;
    assert_eq!(leased.len(), 11, "each once");
    finish(&store, &leased[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_calls_after_a_promotion_wait_no_longer_for_replicas_than_others() {
    let cluster = Cluster::start(&[]).unwrap();
    let prefix = fresh_prefix();
    let wait_timeout = Duration::from_secs(2);
    let options = Options {
        wait: BTreeMap::from([("shop".into(), 1)]),
        wait_timeout,
        ..Options::new(cluster.url_with(&prefix, 1))
    };
    let store = RedisStore::open(options).await.unwrap();
    let maker = Maker::default();
    let handed_over = |name: &str| NewEvent {
        deliveries: vec![NewDelivery {
            first_lease: Some(FirstLease {
                owner: Owner(1),
                lease_for: LONG,
            }),
            ..NewDelivery::to("billing")
        }],
        ..maker.event(name)
    };
    accept_new(&store, &handed_over("before")).await;
    let [(master, _)] = keys_of_cluster(&cluster, &prefix, "m")[..] else {
        panic!("a store of one shard has it on one master");
    };
    cluster.nodes()[master].kill().unwrap();
    cluster.wait_until_ok().unwrap();
    // The next master knows no scripts and has no replica: nothing can be answered.
    let mut refusals = Vec::new();
    for number in 0..3 {
        let began = Instant::now();
        let refused = accept(&store, &handed_over(&format!("after_{number}")))
            .await
            .unwrap_err();
        refusals.push((began.elapsed(), refused.to_string()));
    }
    for (took, refused) in &refusals {
        assert!(refused.contains("replicas"), "{refusals:?}");
        assert!(*took < wait_timeout + Duration::from_secs(1), "{refusals:?}");
    }
    cluster.restart_node(master).unwrap();
    cluster.wait_until_ok().unwrap();
    for number in 0..3 {
        let event = handed_over(&format!("after_{number}"));
        for _ in 0..2 {
            let claim = accept(&store, &event).await.unwrap();
            assert!(matches!(claim, Claim::Seen(_)), "{claim:?}");
        }
    }
    assert_eq!(
        lease(&store, "billing", 10).await.len(),
        3,
        "deliveries leased at accept and not answered were given back"
    );
}

//! Servers that lose data: flushed scripts, and numbers lost in a failover.

use std::time::Duration;

use hapax_core::store::Pause;
use hapax_core::{Operations, Store, Timestamp};
use hapax_store_redis::{Options, RedisStore};
use hapax_test_redis::{Server, fresh_prefix};

use crate::bench::{Maker, accept_again, accept_new, finish, keys, lease, open};

/// Microseconds by which numbers are ahead of the clock, as after a migration from another store.
const AHEAD: i64 = 60_000_000;

#[tokio::test]
async fn a_server_that_forgot_all_scripts_is_given_them_again() {
    let server = Server::start(&[]).unwrap();
    let store = open(&server.url()).await;
    let event = Maker::default().event("evt_1");
    accept_new(&store, &event).await;
    server.call(&["SCRIPT", "FLUSH"]).unwrap();
    accept_again(&store, &event).await;
    server.call(&["SCRIPT", "FLUSH"]).unwrap();
    let leased = lease(&store, "billing", 10).await;
    assert_eq!(leased.len(), 1, "once, although the script was not known");
    server.call(&["SCRIPT", "FLUSH"]).unwrap();
    finish(&store, &leased[0]).await;
    assert!(lease(&store, "billing", 10).await.is_empty());
}

#[tokio::test]
async fn a_connection_that_ended_while_nobody_used_it_fails_no_call() {
    let server = Server::start(&[]).unwrap();
    let options = Options {
        idle_max: Duration::ZERO,
        ..Options::new(server.url())
    };
    let store = RedisStore::open(options).await.unwrap();
    let pause = |name: &str| Pause {
        destination: name.into(),
        at: Timestamp::from_seconds(1),
        by: "ops".to_owned(),
        why: "an upgrade".to_owned(),
    };
    // Often enough to have used every connection.
    for round in 0..10 {
        store.pause(pause(&format!("before-{round}"))).await.unwrap();
    }
    server
        .call(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
        .unwrap();
    for round in 0..10 {
        store.pause(pause(&format!("after-{round}"))).await.unwrap();
    }
    let event = Maker::default().event("evt_1");
    accept_new(&store, &event).await;
    accept_again(&store, &event).await;
}

#[tokio::test]
async fn numbers_never_go_back_where_a_server_lost_the_last_one() {
    let server = Server::shared().unwrap();
    let prefix = fresh_prefix();
    let store = open(&server.url_with_prefix(&prefix)).await;
    let maker = Maker::default();
    let [shard] = &keys(&server, &prefix, "m")[..] else {
        panic!("a store on one server has one shard");
    };
    let seconds: i64 = server.call(&["TIME"]).unwrap().list()[0].text().parse().unwrap();
    let ahead = (seconds * 1_000_000 + AHEAD).to_string();
    server.call(&["HSET", shard, "token", &ahead]).unwrap();
    let mut last = hapax_core::Token(0);
    for number in 0..3 {
        let event = maker.event(&format!("evt_{number}"));
        accept_new(&store, &event).await;
        accept_again(&store, &event).await;
        let leased = lease(&store, "billing", 1).await.remove(0);
        assert!(leased.token > last, "{:?} after {last:?}", leased.token);
        assert!(leased.token.0 > ahead.parse().unwrap());
        last = leased.token;
        assert_eq!(
            server.call(&["HDEL", shard, "token"]).unwrap().number(),
            Some(1),
            "the number existed before it was lost"
        );
    }
}

#[tokio::test]
async fn another_process_gives_greater_numbers_where_the_last_one_was_lost() {
    let server = Server::shared().unwrap();
    let prefix = fresh_prefix();
    let url = server.url_with_prefix(&prefix);
    let event = Maker::default().event("evt_1");
    let first = open(&url).await;
    accept_new(&first, &event).await;
    accept_again(&first, &event).await;
    let before = lease(&first, "billing", 1).await.remove(0);
    drop(first);
    for shard in keys(&server, &prefix, "m") {
        server.call(&["HDEL", &shard, "token"]).unwrap();
    }
    let second = open(&url).await;
    let after = lease(&second, "orders", 1).await.remove(0);
    assert!(after.token > before.token);
    assert_eq!(second.get(event.id).await.unwrap().unwrap().deliveries.len(), 2);
}

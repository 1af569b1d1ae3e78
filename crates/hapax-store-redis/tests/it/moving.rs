//! A slot that moves from one master to another: a script runs completely or not at all, and the store finds the new
//! master.

use std::sync::Arc;

use hapax_core::Store;
use hapax_core::store::Error;
use hapax_test_redis::{Cluster, fresh_prefix};

use crate::bench::{
    Maker, accept, accept_again, accept_new, done, finish, keys_of_cluster, lease, open, open_impatient,
};

const EVENTS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_is_being_moved_refuses_a_step_whole() {
    let cluster = Cluster::start(&[]).unwrap();
    let prefix = fresh_prefix();
    let store = open_impatient(&cluster.url_with(&prefix, 1)).await;
    let maker = Maker::default();
    let (before, during) = (maker.event("before"), maker.event("during"));
    accept_new(&store, &before).await;
    let leased = lease(&store, "billing", 1).await.remove(0);
    let (slot, to) = slot_and_other_master(&cluster, &prefix);
    let moving = cluster.begin_move(slot, to).unwrap();
    for keys_at_once in [0, 1, 3] {
        if keys_at_once > 0 {
            assert_eq!(moving.step(keys_at_once).unwrap(), keys_at_once);
        }
        let refused = accept(&store, &during).await.unwrap_err();
        assert!(matches!(refused, Error::Unavailable { .. }), "{refused}");
        assert!(store.finish(vec![done(leased.hold())]).await.is_err());
    }
    while moving.step(100).unwrap() > 0 {}
    moving.finish().unwrap();
    // If a part had been written, the event would be known, or the number of deliveries would differ.
    accept_new(&store, &during).await;
    accept_again(&store, &during).await;
    accept_again(&store, &before).await;
    finish(&store, &leased).await;
    assert_eq!(lease(&store, "billing", 10).await.len(), 1);
    assert_eq!(lease(&store, "orders", 10).await.len(), 2);
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.events, counts.ledger[0].entries), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_under_load_costs_nothing() {
    let cluster = Arc::new(Cluster::start(&[]).unwrap());
    let prefix = fresh_prefix();
    let store = Arc::new(open(&cluster.url_with(&prefix, 1)).await);
    let (slot, to) = slot_and_other_master(&cluster, &prefix);
    let maker = Maker::default();
    let events: Vec<_> = (0..EVENTS)
        .map(|number| maker.event(&format!("evt_{number}")))
        .collect();
    accept_new(&store, &events[0]).await;
    let whole = Arc::clone(&cluster);
    let moved = tokio::task::spawn_blocking(move || whole.move_slot(slot, to).unwrap());
    for event in &events[1..] {
        accept_new(&store, event).await;
    }
    moved.await.unwrap();
    assert_eq!(cluster.master_of_slot(slot).unwrap(), to);
    for event in &events {
        accept_again(&store, event).await;
    }
    assert_eq!(lease(&store, "billing", 100).await.len(), EVENTS);
}

/// The slot of a store with one shard, and a master that does not have it.
fn slot_and_other_master(cluster: &Cluster, prefix: &str) -> (u16, usize) {
    let [(from, key)] = &keys_of_cluster(cluster, prefix, "m")[..] else {
        panic!("a store of one shard has it on one master");
    };
    (cluster.slot_of(key).unwrap(), (from + 1) % 3)
}

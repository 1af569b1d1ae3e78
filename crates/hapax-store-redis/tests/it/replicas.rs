//! Several replicas on one cluster share the deliveries and fence each other.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{Candidates, Claim, LeaseOrder, Written};
use hapax_core::{Owner, Store};
use hapax_test_redis::{Cluster, fresh_prefix};

use crate::bench::{LONG, Maker, accept, accept_again, accept_new, done, finish, lease, lease_for, open};

const EVENTS: usize = 60;
const DUPLICATES: usize = 600;
const SHARDS: u8 = 8;

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_share_leases_without_overlap() {
    let cluster = Cluster::shared().unwrap();
    let url = cluster.url_with(&fresh_prefix(), SHARDS);
    let replicas = [Arc::new(open(&url).await), Arc::new(open(&url).await)];
    let maker = Maker::default();
    for number in 0..EVENTS {
        let event = maker.event(&format!("evt_{number}"));
        accept_new(&replicas[number % 2], &event).await;
        accept_again(&replicas[(number + 1) % 2], &event).await;
    }
    let tasks: Vec<_> = (0..6)
        .map(|worker| {
            let store = Arc::clone(&replicas[worker % 2]);
            tokio::spawn(async move { work_off(&store).await })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    assert_eq!(all.len(), EVENTS);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), EVENTS, "each ran once");
}

/// Leases and completes deliveries until none is left. Returns their events.
async fn work_off(store: &hapax_store_redis::RedisStore) -> Vec<hapax_core::EventId> {
    let mut ran = Vec::new();
    loop {
        let leased = lease(store, "billing", 4).await;
        if leased.is_empty() {
            // Other replicas may have taken the chosen deliveries: it is finished when nothing is waiting.
            let counts = store.counts().await.unwrap();
            let is_waiting = counts.backlog.iter().any(|backlog| {
                backlog.destination.as_str() == "billing"
                    && backlog.state == hapax_core::DeliveryState::Pending
                    && backlog.count > 0
            });
            if !is_waiting {
                return ran;
            }
        }
        for leased in &leased {
            finish(store, leased).await;
        }
        ran.extend(leased.into_iter().map(|leased| leased.event.id));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_duplicates_on_three_replicas_one_is_new() {
    let cluster = Cluster::shared().unwrap();
    let url = cluster.url_with(&fresh_prefix(), SHARDS);
    let replicas = [
        Arc::new(open(&url).await),
        Arc::new(open(&url).await),
        Arc::new(open(&url).await),
    ];
    let maker = Maker::default();
    let tasks: Vec<_> = (0..DUPLICATES)
        .map(|number| {
            let store = Arc::clone(&replicas[number % 3]);
            let event = maker.event("evt_1");
            tokio::spawn(async move { accept(&store, &event).await.unwrap() })
        })
        .collect();
    let mut new = 0;
    let mut firsts = BTreeSet::new();
    for task in tasks {
        match task.await.unwrap() {
            Claim::New { .. } => new += 1,
            Claim::Seen(entry) => {
                firsts.insert(entry.id);
            }
        }
    }
    assert_eq!((new, firsts.len()), (1, 1));
    assert_eq!(lease(&replicas[0], "billing", 10).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_is_fenced_by_the_replica_that_took_over() {
    let cluster = Cluster::shared().unwrap();
    let url = cluster.url_with(&fresh_prefix(), SHARDS);
    let (zombie, other) = (open(&url).await, open(&url).await);
    let event = Maker::default().event("evt_1");
    accept_new(&zombie, &event).await;
    accept_again(&other, &event).await;
    let stale = lease_for(&zombie, "billing", 1, Duration::ZERO).await.remove(0);
    // Until the server's clock has advanced by a microsecond.
    while other.rescue(10).await.unwrap().is_empty() {}
    let order = LeaseOrder {
        owner: Owner(2),
        destination: "billing".into(),
        limit: 1,
        lease_for: LONG,
        candidates: Candidates::Suspect,
    };
    let fresh = other.lease(order).await.unwrap().leased.remove(0);
    assert!(fresh.token > stale.token);
    assert_eq!(
        zombie.extend(vec![stale.hold()], LONG).await.unwrap(),
        [Written::LeaseLost]
    );
    assert_eq!(
        zombie.finish(vec![done(stale.hold())]).await.unwrap(),
        [Written::LeaseLost]
    );
    finish(&other, &fresh).await;
}

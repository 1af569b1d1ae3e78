//! What the tests share: events, deliveries, and the keys of a store as its servers have them.

use std::time::Duration;

use hapax_core::store::{AcceptRequest, Candidates, Claim, Error, LeaseOrder, Report, Written};
use hapax_core::{
    AttemptOutcome, EventIds, Hold, Identity, Leased, NewEvent, OnDead, Owner, Store, SystemRandom,
};
use hapax_store_laws::bench::Draft;
use hapax_store_redis::{Options, RedisStore};
use hapax_test_redis::{Cluster, Node};

pub(crate) const LONG: Duration = Duration::from_secs(3600);
/// Long enough for a call that is answered, short for one that is refused until it times out.
const IMPATIENT: Duration = Duration::from_millis(400);

pub(crate) async fn open(url: &str) -> RedisStore {
    RedisStore::open(Options::new(url)).await.unwrap()
}

/// A store with a short timeout.
pub(crate) async fn open_impatient(url: &str) -> RedisStore {
    let options = Options {
        call_timeout: IMPATIENT,
        ..Options::new(url)
    };
    RedisStore::open(options).await.unwrap()
}

/// Creates events with ids as one process does.
#[derive(Default)]
pub(crate) struct Maker {
    ids: EventIds,
    random: SystemRandom,
}

impl Maker {
    /// An event for `billing` and `orders`.
    pub(crate) fn event(&self, event_id: &str) -> NewEvent {
        self.draft(event_id).to("billing").to("orders").build()
    }

    /// An event for one lane of `orders`.
    pub(crate) fn in_lane(&self, event_id: &str) -> NewEvent {
        let draft = self.draft(event_id);
        draft.in_lane("orders", "customer", OnDead::Hold).build()
    }

    fn draft(&self, event_id: &str) -> Draft {
        Draft::new(&self.ids, &self.random, Identity::new("shop", event_id))
    }
}

/// Accepts one event.
pub(crate) async fn accept(store: &RedisStore, event: &NewEvent) -> Result<Claim, Error> {
    let events = vec![event.clone()];
    let mut answers = store.accept(vec![AcceptRequest { events }]).await;
    answers.remove(0).map(|mut claims| claims.remove(0))
}

/// Accepts an event that must be new.
pub(crate) async fn accept_new(store: &RedisStore, event: &NewEvent) {
    let claim = accept(store, event).await.unwrap();
    assert!(matches!(claim, Claim::New { .. }), "{claim:?}");
}

/// Accepts an event again: it must be known under its own id.
pub(crate) async fn accept_again(store: &RedisStore, event: &NewEvent) {
    match accept(store, event).await.unwrap() {
        Claim::Seen(entry) => assert_eq!(entry.id, event.id),
        claim @ Claim::New { .. } => panic!("it was accepted before, and now {claim:?}"),
    }
}

pub(crate) async fn lease(store: &RedisStore, to: &str, limit: u32) -> Vec<Leased> {
    let order = LeaseOrder {
        owner: Owner(1),
        destination: to.into(),
        limit,
        lease_for: LONG,
        candidates: Candidates::Fresh,
    };
    store.lease(order).await.unwrap().leased
}

pub(crate) fn done(hold: Hold) -> Report {
    Report {
        hold,
        attempt: None,
        outcome: AttemptOutcome::Completed,
    }
}

/// Completes a leased delivery.
pub(crate) async fn finish(store: &RedisStore, leased: &Leased) {
    let written = store.finish(vec![done(leased.hold())]).await.unwrap();
    assert_eq!(written, [Written::Applied]);
}

/// The store's keys on a server whose names end with `end`.
pub(crate) fn keys(node: &Node, prefix: &str, end: &str) -> Vec<String> {
    let found = node.call(&["KEYS", &format!("{{{prefix}:*}}{end}")]).unwrap();
    found.list().iter().map(hapax_test_redis::Reply::text).collect()
}

/// The same on a cluster, where each shard's key is on one of the masters.
pub(crate) fn keys_of_cluster(cluster: &Cluster, prefix: &str, end: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (index, node) in cluster.nodes().iter().enumerate() {
        if node.info("role").unwrap().as_deref() == Some("master") {
            all.extend(keys(node, prefix, end).into_iter().map(|key| (index, key)));
        }
    }
    all
}

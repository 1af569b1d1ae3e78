//! Several replicas on one database share the deliveries and fence each other.

use std::sync::Arc;

use hapax_core::Backend;
use hapax_core::store::Claim;
use hapax_store_laws::replicas;
use hapax_test_postgres::Server;

use crate::bench::{Maker, accept, open};

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_share_leases_without_overlap() {
    let database = Server::shared().unwrap().database().await.unwrap();
    replicas::share_deliveries([open(&database).await, open(&database).await]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_thousand_duplicates_on_three_replicas_one_is_new() {
    let database = Server::shared().unwrap().database().await.unwrap();
    let (first, second) = (open(&database).await, open(&database).await);
    let three = [first, second, open(&database).await];
    replicas::take_one_of_many_duplicates(three.map(|replica| replica as Arc<dyn Backend>), 2_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_is_fenced_by_the_replica_that_took_over() {
    let database = Server::shared().unwrap().database().await.unwrap();
    replicas::fence_a_zombie([open(&database).await, open(&database).await]).await;
}

/// Its runtime is not driven any more: the process stands still, and its connections stay.
#[test]
fn what_a_frozen_replica_has_locked_is_free_before_those_who_wait_give_up() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (zombies, others) = (runtime().unwrap(), runtime().unwrap());
    let database = others.block_on(Server::shared().unwrap().database()).unwrap();
    let (zombie, other) = (
        zombies.block_on(open(&database)),
        others.block_on(open(&database)),
    );
    let event = Maker::default().event("evt_1");
    let admin = others.block_on(database.client()).unwrap();
    // Nothing new can be stored while this lasts; claims can be made.
    let block = "BEGIN; LOCK TABLE hapax.work IN SHARE MODE";
    others.block_on(admin.batch_execute(block)).unwrap();
    let claimed = event.clone();
    zombies.spawn(async move { accept(&zombie, claimed).await });
    zombies.block_on(async {
        let watch = database.client().await.unwrap();
        let waits = "SELECT 1 FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while watch.query(waits, &[]).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    });
    others.block_on(admin.batch_execute("ROLLBACK")).unwrap();
    let claim = others.block_on(accept(&other, event)).unwrap();
    assert!(matches!(claim, Claim::New { .. }), "{claim:?}");
}

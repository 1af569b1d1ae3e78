//! Several replicas on one cluster share the deliveries and fence each other.

use std::sync::Arc;

use hapax_core::Backend;
use hapax_store_laws::replicas;
use hapax_test_redis::{Cluster, fresh_prefix};

use crate::bench::open;

const DUPLICATES: usize = 600;
const SHARDS: u8 = 8;

async fn open_all<const COUNT: usize>(cluster: &Cluster) -> [Arc<dyn Backend>; COUNT] {
    let url = cluster.url_with(&fresh_prefix(), SHARDS);
    let mut replicas: Vec<Arc<dyn Backend>> = Vec::new();
    for _ in 0..COUNT {
        replicas.push(Arc::new(open(&url).await));
    }
    replicas
        .try_into()
        .unwrap_or_else(|_| unreachable!("as many as were opened"))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_share_leases_without_overlap() {
    let cluster = Cluster::shared().unwrap();
    replicas::share_deliveries(open_all(&cluster).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_duplicates_on_three_replicas_one_is_new() {
    let cluster = Cluster::shared().unwrap();
    replicas::take_one_of_many_duplicates(open_all(&cluster).await, DUPLICATES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_is_fenced_by_the_replica_that_took_over() {
    let cluster = Cluster::shared().unwrap();
    replicas::fence_a_zombie(open_all(&cluster).await).await;
}

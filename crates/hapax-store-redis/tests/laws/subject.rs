//! A store under its own prefix, on the server's clock, for the laws.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Timestamp};
use hapax_store_laws::Subject;
use hapax_store_redis::{Options, RedisStore};
use hapax_test_redis::{Cluster, Connection, Server, fresh_prefix};
use parking_lot::Mutex;

/// Shards of a store on the cluster: more than there are masters, so that each has several.
const CLUSTER_SHARDS: u8 = 8;

/// The servers on which the laws run.
enum TestRedis {
    Server(Server),
    Cluster(Cluster),
}

pub(crate) struct RedisSubject {
    place: TestRedis,
    clock: Mutex<Connection>,
    url: Mutex<String>,
}

#[allow(dead_code, reason = "each test file uses one of them")]
impl RedisSubject {
    pub(crate) fn one_server() -> Self {
        Self::new(TestRedis::Server(Server::shared().unwrap()))
    }

    pub(crate) fn cluster() -> Self {
        Self::new(TestRedis::Cluster(Cluster::shared().unwrap()))
    }

    fn new(place: TestRedis) -> Self {
        let clock = match &place {
            TestRedis::Server(server) => server.connect(),
            // All its servers are on this machine, and share its clock.
            TestRedis::Cluster(cluster) => cluster.nodes()[0].connect(),
        };
        Self {
            place,
            clock: Mutex::new(clock.unwrap()),
            url: Mutex::new(String::new()),
        }
    }

    async fn open(&self) -> Arc<dyn Backend> {
        let url = self.url.lock().clone();
        Arc::new(RedisStore::open(Options::new(url)).await.unwrap())
    }
}

#[async_trait]
impl Subject for RedisSubject {
    async fn fresh(&self) -> Arc<dyn Backend> {
        let prefix = fresh_prefix();
        *self.url.lock() = match &self.place {
            TestRedis::Server(server) => server.url_with_prefix(&prefix),
            TestRedis::Cluster(cluster) => cluster.url_with(&prefix, CLUSTER_SHARDS),
        };
        self.open().await
    }

    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend> {
        drop(crashed);
        self.open().await
    }

    async fn now(&self) -> Timestamp {
        let time = self.clock.lock().call(&["TIME"]).unwrap();
        let [seconds, micros] = [0, 1].map(|part: usize| time.list()[part].text().parse::<i64>().unwrap());
        Timestamp::from_micros(seconds * 1_000_000 + micros)
    }

    fn short_lease(&self) -> Duration {
        Duration::from_millis(300)
    }
}

//! Two replicas of Hapax on a cluster of their own, and a destination that writes down what took effect.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use hapax_test_redis::Cluster;
use tokio::task::block_in_place;

use super::crowd::{self, SOURCE};
use crate::harness::{Copies, Sender, Service, Setup, Sink, deliver_all, eventually};

const REPLICAS: usize = 2;
const SHARDS: u8 = 8;
/// Nothing takes longer to be worked off: a failover, a lease that ends, and the rest of the events.
const LIMIT: Duration = Duration::from_secs(120);
/// Copies that are sent at the end.
const SAMPLE: usize = 500;

/// Everything. The fields are dropped in this order: first the processes, then what they use.
pub(super) struct Site {
    services: Vec<Service>,
    sink: Sink,
    pub(super) cluster: Cluster,
}

impl Site {
    /// With more lines for the destination.
    pub(super) async fn start(destination: &str) -> Self {
        let cluster =
            block_in_place(|| Cluster::start(&["--appendonly", "yes", "--appendfsync", "always"])).unwrap();
        let sink = Sink::start().await;
        let url = cluster.url_with("torture", SHARDS);
        let mut services: Vec<Service> = (0..REPLICAS)
            .map(|_| setup(&sink, &url, destination).spawn())
            .collect();
        for service in &mut services {
            service.until_ready().await;
        }
        Self {
            services,
            sink,
            cluster,
        }
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.services.iter().map(Service::address).collect()
    }

    /// Keeps everything that is not delivered yet in the store.
    pub(super) async fn pause(&self) {
        self.services[0].hapax(&["pause", "app"]).await.assert_code(0);
        let mut before = usize::MAX;
        eventually("what is under way has ended", LIMIT, async || {
            let stats = self.services[0].api("stats").await;
            let running = stats["destinations"][0]["running"].as_u64();
            let after = self.effects();
            let is_calm = running == Some(0) && after == std::mem::replace(&mut before, after);
            is_calm.then_some(())
        })
        .await;
    }

    pub(super) async fn resume(&self) {
        self.services[1].hapax(&["resume", "app"]).await.assert_code(0);
    }

    /// How many events have taken effect.
    pub(super) fn effects(&self) -> usize {
        self.sink.events_applied().len()
    }

    /// Waits until no work is left; what took effect, of so many events.
    pub(super) async fn until_worked_off(&self, events: usize) -> Effects {
        eventually("the backlog is worked off", LIMIT, async || {
            let stats = self.services[0].api("stats").await;
            let destinations = stats["destinations"].as_array()?;
            let is_idle = |place: &serde_json::Value| place["oldest_unfinished_at"].is_null();
            destinations.iter().all(is_idle).then_some(())
        })
        .await;
        Effects::of(&self.sink, events)
    }

    pub(super) fn restart(&self, node: usize) {
        block_in_place(|| self.cluster.restart_node(node)).unwrap();
    }

    /// Waits until the nodes that run agree that each slot has a master that runs.
    pub(super) fn until_agreed(&self) {
        block_in_place(|| self.cluster.wait_until_ok()).unwrap();
    }

    /// Six nodes that run and agree, and a replica behind each master.
    pub(super) fn assert_whole(&self) {
        self.until_agreed();
        let nodes = self.cluster.nodes();
        assert!(nodes.iter().all(hapax_test_redis::Node::is_running));
        let role = |role: &str| {
            let has = |node: &&hapax_test_redis::Node| node.info("role").unwrap().as_deref() == Some(role);
            nodes.iter().filter(has).count()
        };
        assert_eq!((role("master"), role("slave")), (3, 3));
    }

    /// A copy of any event is still known as one, on both replicas.
    pub(super) async fn assert_copies_are_known(&self, events: usize) {
        let sender = Sender::to_source("github", SOURCE);
        for service in &self.services {
            let some = (0..SAMPLE).map(|_| crowd::delivery(&sender, fastrand::usize(..events)));
            let copies = Copies {
                deliveries: some.collect(),
                each: 1,
                connections: 8,
            };
            for answer in deliver_all(service.address(), copies).await.values().flatten() {
                answer.assert_durable("duplicate");
            }
        }
    }
}

fn setup(sink: &Sink, url: &str, destination: &str) -> Setup {
    Setup::new()
        .database(url)
        .source(SOURCE, "github", "deliver_to = [\"app\"]\nredis = { wait = 1 }")
        .http("app", &sink.url(), destination)
}

/// What the destination saw.
pub(super) struct Effects {
    pub(super) attempts: usize,
    /// Events without any effect.
    pub(super) lost: Vec<String>,
    /// Effects beside the first one of each event, whatever their key.
    pub(super) doubled: usize,
    /// Events that came under several keys: what no receiver can tell from two events.
    pub(super) keys: usize,
}

impl Effects {
    fn of(sink: &Sink, events: usize) -> Self {
        let applied: BTreeSet<String> = sink.events_applied();
        let lost = (0..events)
            .map(crowd::name)
            .filter(|event| !applied.contains(event));
        Self {
            attempts: sink.received().len(),
            lost: lost.collect(),
            doubled: sink.applications() - applied.len(),
            keys: sink
                .keys_by_event()
                .values()
                .filter(|keys| keys.len() > 1)
                .count(),
        }
    }
}

impl fmt::Display for Effects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} attempts: {} events lost, {} effects doubled, {} events under a second key",
            self.attempts,
            self.lost.len(),
            self.doubled,
            self.keys
        )
    }
}

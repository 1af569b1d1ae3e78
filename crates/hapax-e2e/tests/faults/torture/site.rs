//! Two replicas of Hapax on their own cluster, and two destinations that record effects.
//!
//! `app` works all the time: deliveries in progress when the master died may take effect twice. `later` can be paused:
//! acknowledged events that wait for it are in the store and nowhere else, so it reveals what the store has lost.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use hapax_test_redis::Cluster;
use tokio::task::block_in_place;

use super::crowd::{self, SOURCE};
use hapax_testkit::{Repeated, Sender, Service, Setup, Sink, deliver_all, eventually};

const REPLICAS: usize = 2;
const SHARDS: u8 = 8;
/// The limit for processing everything. Less than the long lease, so that a delivery stuck until its lease expires is
/// detected.
const LIMIT: Duration = Duration::from_secs(60);
/// Duplicates that are sent at the end.
const SAMPLE: usize = 500;

/// The whole site. The fields are dropped in this order: first the processes, then what they use.
pub(super) struct Site {
    services: Vec<Service>,
    app: Sink,
    later: Sink,
    pub(super) cluster: Cluster,
}

impl Site {
    /// With more lines for the destination.
    pub(super) async fn start(destination: &str) -> Self {
        let cluster =
            block_in_place(|| Cluster::start(&["--appendonly", "yes", "--appendfsync", "always"])).unwrap();
        let (app, later) = (Sink::start().await, Sink::start().await);
        let url = cluster.url_with("torture", SHARDS);
        let mut services: Vec<Service> = (0..REPLICAS)
            .map(|_| setup(&app, &later, &url, destination).spawn())
            .collect();
        for service in &mut services {
            service.until_ready().await;
        }
        Self {
            services,
            app,
            later,
            cluster,
        }
    }

    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.services.iter().map(Service::address).collect()
    }

    /// Keeps all deliveries to `later` in the store.
    pub(super) async fn pause(&self) {
        self.services[0].hapax(&["pause", "later"]).await.assert_code(0);
        let mut before = usize::MAX;
        eventually("what is under way has ended", LIMIT, async || {
            let stats = self.services[0].api("stats").await;
            let places = stats["destinations"].as_array()?;
            let later = places.iter().find(|place| place["destination"] == "later")?;
            let (running, after) = (later["running"].as_u64(), self.later.applications());
            let is_calm = running == Some(0) && after == std::mem::replace(&mut before, after);
            is_calm.then_some(())
        })
        .await;
    }

    pub(super) async fn resume(&self) {
        self.services[1].hapax(&["resume", "later"]).await.assert_code(0);
    }

    /// How many of this many events have not taken effect at `later`.
    pub(super) fn held(&self, events: usize) -> usize {
        events.saturating_sub(self.later.events_applied().len())
    }

    /// Waits until no deliveries are left; returns the effects of this many events.
    pub(super) async fn until_worked_off(&self, events: usize) -> Effects {
        eventually("the backlog is worked off", LIMIT, async || {
            let stats = self.services[0].api("stats").await;
            let destinations = stats["destinations"].as_array()?;
            let is_idle = |place: &serde_json::Value| place["oldest_unfinished_at"].is_null();
            destinations.iter().all(is_idle).then_some(())
        })
        .await;
        Effects::of(&self.app, events).and(Effects::of(&self.later, events))
    }

    pub(super) fn restart(&self, node: usize) {
        block_in_place(|| self.cluster.restart_node(node)).unwrap();
    }

    /// Waits until the running nodes agree that each slot has a running master.
    pub(super) fn until_agreed(&self) {
        block_in_place(|| self.cluster.wait_until_ok()).unwrap();
    }

    /// Six running nodes that agree, and a replica behind each master.
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

    /// A duplicate of any event is still recognised, on both replicas.
    pub(super) async fn assert_duplicates_are_known(&self, events: usize) {
        let sender = Sender::to_source("github", SOURCE);
        for service in &self.services {
            let some = (0..SAMPLE).map(|_| crowd::delivery(&sender, fastrand::usize(..events)));
            let copies = Repeated {
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

fn setup(app: &Sink, later: &Sink, url: &str, destination: &str) -> Setup {
    Setup::new()
        .database(url)
        .source(
            SOURCE,
            "github",
            "deliver_to = [\"app\", \"later\"]\nredis = { wait = 1 }",
        )
        .http("app", &app.url(), destination)
        .http("later", &later.url(), destination)
}

/// The effects at the destinations.
pub(super) struct Effects {
    pub(super) attempts: usize,
    /// Events without any effect, once for each destination.
    pub(super) lost: Vec<String>,
    /// Effects after the first one of each event, under any key.
    pub(super) doubled: usize,
    /// Events that arrived under several keys: a receiver cannot distinguish these from two events.
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

    /// The effects at both.
    fn and(mut self, other: Self) -> Self {
        self.lost.extend(other.lost);
        Self {
            attempts: self.attempts + other.attempts,
            lost: self.lost,
            doubled: self.doubled + other.doubled,
            keys: self.keys + other.keys,
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

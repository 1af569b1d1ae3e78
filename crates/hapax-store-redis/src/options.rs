//! The store's limits, named, with their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::store::Purpose;
use hapax_core::{Secret, SourceName};

/// How a store is opened. [`Options::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is: `redis://user:password@host:port/database`, `redis-cluster://host:port,host:port`, or the same with
    /// `rediss`. Behind a `?`: `prefix`, what every key begins with, and `shards`, how many a new store gets. A secret,
    /// since it may hold a password.
    pub url: Secret,
    /// What it is opened for: an unfinished copy is not served.
    pub purpose: Purpose,
    /// For each source, how many replicas must have an event before it is answered. Sources that are not named wait for
    /// none.
    pub wait: BTreeMap<SourceName, u8>,
    /// How long replicas may take for that.
    pub wait_timeout: Duration,
    /// Calls that may be in progress; more are refused as overloaded. As many more for searches and upkeep, which no event
    /// waits for.
    pub calls_max: usize,
    /// Connections to each server; as many more for searches and upkeep.
    pub connections: usize,
    /// How long making one connection may take.
    pub connect_timeout: Duration,
    /// A connection that was idle for this long is tried with `PING` before it gets a call.
    pub idle_max: Duration,
    /// How long a cluster that answers may take until all of its shards have a master, when the store is opened: Redis
    /// promotes a replica when the master has been silent for `cluster-node-timeout`, which is 15 s unless it is set.
    pub open_timeout: Duration,
    /// How long one call may take in all: redirections, a failover and new connections included.
    pub call_timeout: Duration,
    /// Events looked at for one page of a list, whatever fits.
    pub list_scan_max: usize,
    /// Events looked at in one call of `purge`, whatever may go.
    pub purge_scan_max: usize,
    /// How long a bulk replay that is over is kept.
    pub replay_keep: Duration,
}

impl Options {
    /// The defaults, for this server or cluster.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: Secret::new(url),
            purpose: Purpose::Serve,
            wait: BTreeMap::new(),
            wait_timeout: Duration::from_secs(2),
            calls_max: 1_024,
            connections: 4,
            connect_timeout: Duration::from_secs(2),
            idle_max: Duration::from_secs(1),
            open_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(5),
            list_scan_max: 5_000,
            purge_scan_max: 5_000,
            replay_keep: days(60),
        }
    }
}

const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 86_400)
}

//! The store's limits, named, with their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use hapax_core::store::Purpose;
use hapax_core::{Secret, SourceName};

/// How a store is opened. [`Options::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it is: `redis://user:password@host:port/database`, `redis-cluster://host:port,host:port`, or the same with
    /// `rediss`. After a `?`: `prefix`, with which every key begins, and `shards`, the number for a new store. A
    /// secret, since it may hold a password.
    pub url: Secret,
    /// The purpose it is opened for: an unfinished migration is not served.
    pub purpose: Purpose,
    /// The number of replicas that must have an event before it is answered, per source. Sources not listed wait for
    /// none.
    pub wait: BTreeMap<SourceName, u8>,
    /// How long to wait for replicas.
    pub wait_timeout: Duration,
    /// Calls that may be in progress; further calls are refused as overloaded. The same number again is available for
    /// searches and upkeep, for which no event waits.
    pub calls_max: usize,
    /// Connections to each server; the same number again for searches and upkeep.
    pub connections: usize,
    /// How long opening a connection may take.
    pub connect_timeout: Duration,
    /// A connection that was idle for this long is checked with `PING` before it gets a call.
    pub idle_max: Duration,
    /// How long a cluster that answers may take until all its shards have a master when the store is opened: Redis
    /// promotes a replica after the master has been silent for `cluster-node-timeout`, 15 s by default.
    pub open_timeout: Duration,
    /// How long one call may take in total, including redirections, a failover and new connections.
    pub call_timeout: Duration,
    /// Events read for one page of a list, however few match.
    pub list_scan_max: usize,
    /// Events examined in one call of `purge`, however few are deleted.
    pub purge_scan_max: usize,
    /// How long a finished replay job is kept.
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

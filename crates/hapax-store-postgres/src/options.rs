//! The store's limits, named, with their defaults.

use std::time::Duration;

use hapax_core::Secret;
use hapax_core::store::Purpose;

/// How a store is opened. [`Options::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the database is: `postgres://user:password@host:port/database?sslmode=verify-full`. A secret, since it may
    /// hold a password.
    pub url: Secret,
    /// The purpose it is opened for: an unfinished migration is not served.
    pub purpose: Purpose,
    /// The maximum number of connections for processing events: accepts, leases, heartbeats, outcomes.
    pub connections_max: usize,
    /// The maximum number of connections for upkeep: purging, replays, counts, and changes by operators. They are
    /// separate, so that no event waits for upkeep.
    pub upkeep_connections_max: usize,
    /// The maximum number of connections for searches and lists. They are separate, so that neither events nor upkeep
    /// wait for them.
    pub search_connections_max: usize,
    /// Calls of each of these kinds that may run or wait for a connection; further calls are refused as overloaded.
    pub calls_max: usize,
    /// How long a call waits for a connection.
    pub acquire_timeout: Duration,
    /// How long opening a connection may take.
    pub connect_timeout: Duration,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long a statement may wait for a lock, for example for the first of two duplicates to commit.
    pub lock_timeout: Duration,
    /// How long the server waits for the next statement of a transaction that writes: the locks of a frozen process, or
    /// of one whose machine is gone, are released after that. Less than `lock_timeout`, so that others still get them.
    pub idle_timeout: Duration,
    /// How long a whole step may take, in case the server stops responding.
    pub step_timeout: Duration,
    /// Whether statements are prepared once per connection. The URL can set this too, as `prepared_statements=true` or
    /// `=false`.
    pub preparing: Preparing,
    /// Whether to serve a database that may lose committed transactions.
    pub allow_unsafe_durability: bool,
    /// How the tables are distributed, if the database itself cannot tell.
    pub spread: Option<Spread>,
    /// Events read for one page of a list, however few match.
    pub list_scan_max: usize,
    /// Events examined in one call of `purge`, however few are deleted.
    pub purge_scan_max: usize,
    /// Deliveries finished by this process before `hapax.work` is vacuumed.
    pub vacuum_after: u64,
    /// How long a finished replay job is kept.
    pub replay_keep: Duration,
}

/// Whether statements are prepared. Behind a pooler that shares connections they must not be: a statement prepared on
/// one connection would be requested on another, where its name may belong to another client's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparing {
    /// If nothing stands between the store and the database.
    WhereSafe,
    /// Always: the pooler is known to keep statements apart, as pgbouncer can from version 1.21.
    Always,
    Never,
}

/// How the tables are distributed, and so how statements are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// On one server: one statement for all rows of a batch.
    Whole,
    /// By bucket across several servers: each statement names one bucket, and so runs on one of them.
    ByBucket,
}

impl Options {
    /// The defaults, for this database.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: Secret::new(url),
            purpose: Purpose::Serve,
            connections_max: 8,
            upkeep_connections_max: 4,
            search_connections_max: 2,
            calls_max: 1_024,
            acquire_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(5),
            step_timeout: Duration::from_secs(60),
            preparing: Preparing::WhereSafe,
            allow_unsafe_durability: false,
            spread: None,
            list_scan_max: 5_000,
            purge_scan_max: 5_000,
            vacuum_after: 20_000,
            replay_keep: days(60),
        }
    }
}

const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 86_400)
}

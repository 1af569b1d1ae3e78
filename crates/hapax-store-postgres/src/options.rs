//! The store's limits, named, with their defaults.

use std::time::Duration;

use hapax_core::Secret;
use hapax_core::store::Purpose;

/// How a store is opened. [`Options::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the database is: `postgres://user:password@host:port/database?sslmode=verify-full`.
    /// A secret, since it may hold a password.
    pub url: Secret,
    /// What it is opened for: an unfinished copy is not served.
    pub purpose: Purpose,
    /// Connections at most for what events need: accepts, leases, heartbeats, outcomes.
    pub connections_max: usize,
    /// Connections at most for upkeep: purging, replays, counts, and what operators change. They are further ones, so
    /// that no event waits for any of it.
    pub upkeep_connections_max: usize,
    /// Connections at most for searches and lists: further ones, so that neither events nor upkeep wait for them.
    pub search_connections_max: usize,
    /// Calls of each of these kinds that may run or wait for a connection; more are refused as overloaded.
    pub calls_max: usize,
    /// How long a call waits for a connection.
    pub acquire_timeout: Duration,
    /// How long making one connection may take.
    pub connect_timeout: Duration,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long one statement may wait for a lock, such as for the first of two copies to commit.
    pub lock_timeout: Duration,
    /// How long one step may take in all, should the server say nothing any more.
    pub step_timeout: Duration,
    /// Whether statements are prepared once for each connection. The URL may say it too, as
    /// `prepared_statements=true` or `=false`.
    pub preparing: Preparing,
    /// Whether to serve a database that may forget what it has committed.
    pub allow_unsafe_durability: bool,
    /// How the tables are spread, where the database cannot say so itself.
    pub spread: Option<Spread>,
    /// Events looked at for one page of a list, whatever fits.
    pub list_scan_max: usize,
    /// Events looked at in one call of `purge`, whatever may go.
    pub purge_scan_max: usize,
    /// Deliveries that are finished here before the table of unfinished work is vacuumed.
    pub vacuum_after: u64,
    /// How long a bulk replay that is over is kept.
    pub replay_keep: Duration,
}

/// Whether statements are prepared. Behind a pooler that shares connections they may not be: what was
/// prepared on one connection would be asked for on another, where someone else's has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparing {
    /// Where nothing is between us and the database.
    WhereSafe,
    /// In any case: the pooler is known to keep statements apart, as pgbouncer can from version 1.21.
    Always,
    /// Never.
    Never,
}

/// How the tables are spread, and so how statements are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// On one server: one statement for all rows of a batch.
    Whole,
    /// By bucket over several servers: each statement names one bucket, and so runs on one of them.
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

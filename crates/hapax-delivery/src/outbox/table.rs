//! `hapax_outbox` in any database: what the relay does with it.

use std::time::Duration;

use async_trait::async_trait;
use hapax_core::EventId;

use super::row::Row;
use hapax_telemetry::outbox_health::Counts;

/// Bytes of bodies claimed at the same time, about: a batch may be larger by one row.
pub(super) const BATCH_BYTES_MAX: i64 = 16 << 20;
/// Refused rows that are shown.
pub(super) const SHOWN_MAX: i64 = 50;
/// Rows of a state are counted up to this many: the database is someone else's, and has other things to do.
pub const COUNT_MAX: i64 = 1_000_000;
/// Due rows that are looked at for a claim, from either end. If there are more, those that wait behind another of their
/// order key are set back.
pub(super) const LOOK_MAX: i64 = 1_000;
/// How long a row is set back, unless it becomes the first of its key before.
pub(super) const SET_BACK_FOR: Duration = Duration::from_secs(3600);

/// The table. Time is the database's own.
///
/// Of an order key only the first row that is not relayed can be claimed. Thousands may wait behind one that is refused,
/// and no one may have to look at them again and again: they are *set back*, which makes them due much later and their
/// `token` 0. Who relays the first of a key lets the next one come forward, and whoever sets rows back looks once more
/// afterwards, so that one of two who do both at the same moment sees the other. [`Self::tend`] finds what no one
/// let forward: the first row was deleted, or relayed by an earlier version.
#[async_trait]
pub trait Table: Send + Sync {
    /// Claims due rows, about oldest first: of each order key only the first that was not relayed. The claims are
    /// committed when this returns, and end after `order.lease_for`.
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Row>, TableError>;

    /// Writes what became of claimed rows, each only while the claim with this token holds. The next rows of order keys
    /// whose first is relayed come forward.
    async fn settle(&self, token: i64, ends: Vec<(i64, End)>) -> Result<(), TableError>;

    /// Where more rows are due than a claim looks at, sets those back that wait behind another; how many.
    async fn make_way(&self) -> Result<u64, TableError>;

    /// Lets rows come forward that were set back and are the first of their keys. It looks at a bounded number of keys
    /// from `key` on; where it ended, unless that was the last.
    async fn tend(&self, key: Option<String>) -> Result<Option<String>, TableError>;

    /// Deletes rows that were relayed longer ago than `keep`; how many.
    async fn purge(&self, keep: Duration, limit: i64) -> Result<u64, TableError>;

    /// How many rows there are of each state.
    async fn counts(&self) -> Result<Counts, TableError>;

    /// Lets a refused row be tried again; whether there was one.
    async fn retry(&self, id: i64) -> Result<bool, TableError>;

    /// Whether the table is there with all of its indexes and may be used. Makes nothing.
    async fn examine(&self) -> Result<Examined, TableError>;
}

/// A request for rows.
#[derive(Clone, Copy, Debug)]
pub struct ClaimOrder {
    pub(super) limit: i64,
    /// Fences what is written about them.
    pub(super) token: i64,
    pub(super) lease_for: Duration,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It is an event now.
    Relayed(EventId),
    /// It can never be one, for this reason.
    Refused(String),
    /// Not now; again after this long.
    Again(Duration),
}

impl End {
    /// `relayed`, `refused` or `later`.
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Relayed(_) => "relayed",
            Self::Refused(_) => "refused",
            Self::Again(_) => "later",
        }
    }
}

/// How a table was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examined {
    /// It is all there.
    Whole,
    /// This index of it is not.
    WithoutIndex(&'static str),
    /// It is not there yet.
    Missing,
}

/// The indexes that it has, by name.
pub(super) const INDEXES: [&str; 4] = [
    "hapax_outbox_due",
    "hapax_outbox_order",
    "hapax_outbox_relayed",
    "hapax_outbox_refused",
];

/// The table cannot be used now. The message never quotes a URL: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TableError(pub(super) String);

//! `hapax_outbox` in any database: the operations of the relay.

use std::time::Duration;

use async_trait::async_trait;
use hapax_core::EventId;

use super::row::Row;
use hapax_telemetry::outbox_health::Counts;

/// Approximate limit on the bytes of bodies claimed at the same time: a batch may exceed it by one row.
pub(super) const BATCH_BYTES_MAX: i64 = 16 << 20;
/// The most refused rows that are listed.
pub(super) const SHOWN_MAX: i64 = 50;
/// Rows of a state are counted up to this limit: the database belongs to the application and has other things to do.
pub const COUNT_MAX: i64 = 1_000_000;
/// Due rows that a claim scans, from either end. If there are more, those that wait behind another row of their order
/// key are set back.
pub(super) const LOOK_MAX: i64 = 1_000;
/// How long a row is set back, unless it becomes the first of its key earlier.
pub(super) const SET_BACK_FOR: Duration = Duration::from_secs(3600);

/// The table. Times come from the database's clock.
///
/// Of each order key, only the first row that is not relayed can be claimed. Thousands may wait behind one that is
/// refused, and must not be scanned again and again: they are *set back*, which makes them due much later and sets
/// their `token` to 0. The relay that relays the first row of a key brings the next one forward, and a relay that sets
/// rows back checks once more afterwards, so that if both happen at the same moment, one of them sees the other.
/// [`Self::tend`] finds rows that no relay brought forward: the first row was deleted, or relayed by an earlier
/// version.
#[async_trait]
pub trait Table: Send + Sync {
    /// Claims due rows, roughly oldest first: of each order key only the first that is not relayed. The claims are
    /// committed when this returns, and expire after `order.lease_for`.
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Row>, TableError>;

    /// Writes the result of each claimed row, but only while the claim with this token holds. The next rows of order
    /// keys whose first row was relayed come forward.
    async fn settle(&self, token: i64, ends: Vec<(i64, End)>) -> Result<(), TableError>;

    /// If more rows are due than a claim scans, sets back those that wait behind another; returns how many.
    async fn make_way(&self) -> Result<u64, TableError>;

    /// Brings forward rows that were set back and are now the first of their keys. It checks a bounded number of keys,
    /// starting at `key`, and returns where it stopped unless that was the last.
    async fn tend(&self, key: Option<String>) -> Result<Option<String>, TableError>;

    /// Deletes rows that were relayed longer ago than `keep`; returns how many.
    async fn purge(&self, keep: Duration, limit: i64) -> Result<u64, TableError>;

    /// The number of rows in each state.
    async fn counts(&self) -> Result<Counts, TableError>;

    /// Makes a refused row eligible again; returns whether there was one.
    async fn retry(&self, id: i64) -> Result<bool, TableError>;

    /// Whether the table exists with all of its indexes and may be used. Creates nothing.
    async fn examine(&self) -> Result<Examined, TableError>;
}

#[derive(Clone, Copy, Debug)]
pub struct ClaimOrder {
    pub(super) limit: i64,
    /// Fences later writes about these rows.
    pub(super) token: i64,
    pub(super) lease_for: Duration,
}

/// The result of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It became an event.
    Relayed(EventId),
    /// It can never become an event, for this reason.
    Refused(String),
    /// Not now; retry after this time.
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

/// The state of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examined {
    /// The table and all of its indexes exist.
    Whole,
    /// This index is missing.
    WithoutIndex(&'static str),
    Missing,
}

/// The names of its indexes.
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

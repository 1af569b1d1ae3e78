//! `hapax_outbox` in any database: what the relay does with it.

use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{EventId, Timestamp};

use super::row::Row;

/// Bytes of bodies claimed at one time, about: a batch may be larger by one row.
pub(super) const BATCH_BYTES_MAX: i64 = 16 << 20;
/// Refused rows that are shown.
pub(super) const SHOWN_MAX: i64 = 50;

/// The table. Time is the database's own.
#[async_trait]
pub(crate) trait Table: Send + Sync {
    /// Claims due rows, oldest first: of each order key only the first that was not relayed. The claims are committed
    /// when this returns, and end after `order.lease_for`.
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Row>, TableError>;

    /// Writes what became of claimed rows, each only while the claim with this token holds.
    async fn settle(&self, token: i64, ends: Vec<(i64, End)>) -> Result<(), TableError>;

    /// Deletes rows that were relayed longer ago than `keep`; how many.
    async fn purge(&self, keep: Duration, limit: i64) -> Result<u64, TableError>;

    /// How many rows there are of each state.
    async fn counts(&self) -> Result<Counts, TableError>;

    /// Lets a refused row be tried again; whether there was one.
    async fn retry(&self, id: i64) -> Result<bool, TableError>;
}

/// A request for rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimOrder {
    pub(super) limit: i64,
    /// Fences what is written about them.
    pub(super) token: i64,
    pub(super) lease_for: Duration,
}

/// What became of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It is an event now.
    Relayed(EventId),
    /// It can never be one, for this reason.
    Refused(String),
    /// Not now; again after this long.
    Again(Duration),
}

/// Rows of each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) pending: u64,
    pub(crate) leased: u64,
    pub(crate) relayed: u64,
    pub(crate) refused: u64,
    /// When the oldest that was not relayed was written.
    pub(crate) oldest_at: Option<Timestamp>,
    /// The first refused rows.
    pub(crate) refused_rows: Vec<RefusedRow>,
}

impl Counts {
    /// Adds a state's count.
    pub(super) fn add(&mut self, state: &str, count: i64) {
        let count = count as u64;
        match state {
            "pending" => self.pending = count,
            "leased" => self.leased = count,
            "relayed" => self.relayed = count,
            _ => self.refused = count,
        }
    }
}

/// A row that cannot be relayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedRow {
    pub(crate) id: i64,
    pub(crate) idempotency_key: String,
    pub(crate) order_key: Option<String>,
    pub(crate) error: String,
}

/// The table cannot be used now. The message never quotes a URL: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TableError(pub(super) String);

//! How an outbox is doing, as its relay tells it.

use std::time::Duration;

use hapax_core::Timestamp;

/// How an outbox is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Its name.
    pub name: String,
    /// What the last look that succeeded counted; none before the first.
    pub counts: Option<Counts>,
    /// Why it is not relayed, looked at or purged, and for how long it has been so.
    pub trouble: Option<(String, Duration)>,
}

/// Rows of each state, each counted up to a million.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub pending: u64,
    pub leased: u64,
    pub relayed: u64,
    pub refused: u64,
    /// When the oldest was written that waits to be relayed.
    pub oldest_at: Option<Timestamp>,
    /// The first refused rows.
    pub refused_rows: Vec<RefusedRow>,
}

/// A row that cannot be relayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    pub id: i64,
    pub idempotency_key: String,
    pub order_key: Option<String>,
    pub error: String,
}

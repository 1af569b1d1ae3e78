//! The health of an outbox, as reported by its relay.

use std::time::Duration;

use hapax_core::Timestamp;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    pub name: String,
    /// The counts of the last successful check; `None` before the first.
    pub counts: Option<Counts>,
    /// Why relaying, checking or purging fails, and for how long it has failed.
    pub trouble: Option<(String, Duration)>,
}

/// The number of rows in each state, each counted up to a million.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub pending: u64,
    pub leased: u64,
    pub relayed: u64,
    pub refused: u64,
    /// When the oldest row that waits to be relayed was written.
    pub oldest_at: Option<Timestamp>,
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

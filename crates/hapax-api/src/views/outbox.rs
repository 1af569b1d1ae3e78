//! Outboxes: their pending and refused rows.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every outbox that this process relays.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxesView {
    /// The outboxes, ordered by name.
    pub outboxes: Vec<OutboxView>,
}

/// An outbox and its rows.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxView {
    /// The outbox's name.
    pub name: String,
    /// The URL of its database, without credentials.
    pub url: String,
    /// Rows that are waiting. This and the next three counts stop at 1,000,000.
    pub pending: u64,
    /// Rows that are being relayed.
    pub leased: u64,
    /// Rows that became events and have not been deleted yet.
    pub relayed: u64,
    /// Rows that cannot become events.
    pub refused: u64,
    /// When the oldest waiting row was written.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_at: Option<Timestamp>,
    /// The first refused rows.
    pub refused_rows: Vec<OutboxRowView>,
    /// Why the table cannot be read; the counts are zero in this case.
    pub problem: Option<String>,
}

/// A refused row.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxRowView {
    /// The row's id.
    pub id: i64,
    /// The row's idempotency key.
    pub idempotency_key: String,
    /// The row's order key. Rows with the same order key wait behind it.
    pub order_key: Option<String>,
    /// Why it was refused, and what to do.
    pub error: String,
}

/// A refused row that will be retried.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxRetriedView {
    /// The outbox's name.
    pub outbox: String,
    /// The row's id.
    pub id: i64,
}

//! Outboxes: how much waits in them, and what was refused.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Every outbox that this process relays.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxesView {
    /// In order of their names.
    pub outboxes: Vec<OutboxView>,
}

/// An outbox and its rows.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxView {
    /// Its name.
    pub name: String,
    /// Where it is, without credentials.
    pub url: String,
    /// Rows that wait. This and the next three are counted up to 1,000,000.
    pub pending: u64,
    /// Rows that are just being relayed.
    pub leased: u64,
    /// Rows that became events, and are not deleted yet.
    pub relayed: u64,
    /// Rows that cannot become events.
    pub refused: u64,
    /// When the oldest row was written that waits.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_at: Option<Timestamp>,
    /// The first of the refused rows.
    pub refused_rows: Vec<OutboxRowView>,
    /// Why the table cannot be read, if it cannot; the counts are zero then.
    pub problem: Option<String>,
}

/// A row that was refused.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxRowView {
    /// Its id.
    pub id: i64,
    /// Its key.
    pub idempotency_key: String,
    /// Rows of the same order key wait behind it.
    pub order_key: Option<String>,
    /// Why it was refused, and what to do.
    pub error: String,
}

/// A refused row that is tried again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OutboxRetriedView {
    /// The outbox.
    pub outbox: String,
    /// The row.
    pub id: i64,
}

//! Totals at a glance, and what needs attention.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DestinationStatsView, PercentilesView, TrafficView};

/// A time range at a glance, across all sources and destinations.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OverviewView {
    /// What needs attention, most urgent first.
    pub attention: Vec<AttentionView>,
    /// All requests received.
    pub received: u64,
    /// New events.
    pub accepted: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Requests with a known id and a different body.
    pub conflicts: u64,
    /// Refused requests.
    pub rejected: u64,
    /// The share of duplicates in the requests that were not rejected, from 0 to 1; null if there were none.
    pub dedupe_ratio: Option<f64>,
    /// How long responses to providers took.
    pub ack: PercentilesView,
    /// How long attempts took.
    pub handler: PercentilesView,
    /// The deliveries of each destination.
    pub destinations: Vec<DestinationStatsView>,
    /// The rows of each outbox, as counted a few seconds ago.
    #[serde(default)]
    pub outboxes: Vec<OutboxHealthView>,
    /// The same by source, destination and slot.
    pub traffic: TrafficView,
}

/// The state of an outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutboxHealthView {
    /// The outbox's name.
    pub outbox: String,
    /// Rows that are waiting or being relayed; null before the first count.
    pub waiting: Option<u64>,
    /// Rows that cannot become events.
    pub refused: Option<u64>,
    /// Rows that became events and have not been deleted yet.
    pub relayed: Option<u64>,
    /// When the oldest waiting row was written.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_at: Option<Timestamp>,
    /// Why the table cannot be used.
    pub problem: Option<String>,
}

/// Something that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttentionView {
    /// The kind of issue.
    pub kind: AttentionKind,
    /// The source, destination or outbox.
    pub subject: String,
    /// The number of occurrences, where they can be counted.
    pub count: u64,
    /// A sentence that describes the issue.
    pub sentence: String,
    /// The dashboard page that shows it and lets you act on it.
    pub link: String,
    /// Since when it has been firing as an alert.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub firing_since: Option<Timestamp>,
}

/// Kinds of issues, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// Deliveries ended as dead letters.
    Dead,
    /// A destination receives nothing because it keeps failing.
    Breaker,
    /// An outbox cannot be relayed.
    OutboxDown,
    /// Rows of an outbox were refused.
    OutboxRefused,
    /// A row of an outbox has waited too long.
    OutboxWaiting,
    /// A delivery has waited too long.
    Waiting,
    /// Durable writes are slow.
    Store,
    /// Attempts at a destination are slow.
    Slow,
    /// A source's duplicate rate is high.
    Duplicates,
    /// A body differs from the first body with the same id.
    Conflict,
    /// A duplicate arrived when the ledger was about to forget the first delivery.
    Gap,
    /// Requests were refused.
    Refused,
    /// A destination is paused.
    Paused,
}

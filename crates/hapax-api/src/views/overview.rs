//! The whole at a glance, and what needs someone's attention.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DestinationStatsView, PercentilesView, TrafficView};

/// A span at a glance, over all sources and destinations.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OverviewView {
    /// What needs attention, the most pressing first.
    pub attention: Vec<AttentionView>,
    /// Everything that arrived.
    pub received: u64,
    /// New events.
    pub accepted: u64,
    /// Copies.
    pub duplicates: u64,
    /// Other bodies under a known id.
    pub conflicts: u64,
    /// Refused requests.
    pub rejected: u64,
    /// Duplicates among what was not rejected, from 0 to 1; null before the first.
    pub dedupe_ratio: Option<f64>,
    /// How long answers to senders took.
    pub ack: PercentilesView,
    /// How long attempts took.
    pub handler: PercentilesView,
    /// The work of each destination.
    pub destinations: Vec<DestinationStatsView>,
    /// The rows of each outbox, as they were counted a few seconds ago.
    #[serde(default)]
    pub outboxes: Vec<OutboxHealthView>,
    /// The same by source, destination and slot.
    pub traffic: TrafficView,
}

/// How an outbox is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutboxHealthView {
    /// The outbox.
    pub outbox: String,
    /// Rows that wait or are just being relayed; null before they were counted.
    pub waiting: Option<u64>,
    /// Rows that cannot become events.
    pub refused: Option<u64>,
    /// Rows that became events, and are not deleted yet.
    pub relayed: Option<u64>,
    /// When the oldest row was written that waits.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_at: Option<Timestamp>,
    /// Why its table cannot be used, if it cannot.
    pub problem: Option<String>,
}

/// Something that someone should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttentionView {
    /// What kind of thing.
    pub kind: AttentionKind,
    /// The source, destination or outbox.
    pub subject: String,
    /// How many, where it can be counted.
    pub count: u64,
    /// What it is, in a sentence.
    pub sentence: String,
    /// The page of the dashboard where it is seen and dealt with.
    pub link: String,
    /// Since when it fires as an alert, if it does.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub firing_since: Option<Timestamp>,
}

/// Kinds of attention, the most pressing first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// Deliveries were given up.
    Dead,
    /// A destination gets nothing because it keeps failing.
    Breaker,
    /// An outbox cannot be relayed.
    OutboxDown,
    /// Rows of an outbox were refused.
    OutboxRefused,
    /// A row of an outbox waits too long.
    OutboxWaiting,
    /// A delivery waits too long.
    Waiting,
    /// Durable writes take long.
    Store,
    /// Attempts at a destination take long.
    Slow,
    /// A source repeats itself.
    Duplicates,
    /// A body differs from the first one under its id.
    Conflict,
    /// A copy came so late that the ledger had nearly forgotten the first.
    Gap,
    /// Requests were refused.
    Refused,
    /// A destination is paused.
    Paused,
}

//! Counters and totals.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{EncryptionView, PauseView, TenMinutesView, TrafficView};

/// Statistics of the service.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatsView {
    /// The version of the process that answers.
    pub version: String,
    /// When this process started. Request counts start here.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// The time since then.
    pub uptime_seconds: u64,
    /// Requests by source.
    pub sources: Vec<SourceStatsView>,
    /// Deliveries by destination.
    pub destinations: Vec<DestinationStatsView>,
    /// The contents of the store; null for a caller who sees only some sources.
    #[serde(default)]
    pub store: Option<StoreView>,
    /// What retention has deleted since the start; null for a caller who sees only some sources.
    #[serde(default)]
    pub retention: Option<RetentionView>,
    /// The last ten minutes of the process that answers.
    #[serde(default)]
    pub ten_minutes: TenMinutesView,
    /// Traffic over time; null unless `range` requests it.
    #[serde(default)]
    pub traffic: Option<TrafficView>,
}

/// The requests of a source since the start.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceStatsView {
    /// The source's name.
    pub source: String,
    /// All requests received: accepted, duplicates, conflicts and rejected.
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
    /// Ids that the ledger remembers in this source's scope.
    pub ledger_entries: u64,
}

/// The deliveries of a destination.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationStatsView {
    /// The destination's name, or its id if it is no longer configured.
    pub destination: String,
    /// The destination's stable id.
    pub destination_id: String,
    /// Whether it is configured.
    pub configured: bool,
    /// Deliveries waiting for their first attempt.
    pub pending: u64,
    /// Deliveries with a running attempt.
    pub running: u64,
    /// Deliveries waiting for another attempt.
    pub retrying: u64,
    /// Deliveries waiting until the destination is resumed or configured again.
    pub held: u64,
    /// Dead letters.
    pub dead: u64,
    /// When the event of the oldest unfinished delivery was accepted.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_unfinished_at: Option<Timestamp>,
    /// Who paused it, when and why.
    pub paused: Option<PauseView>,
    /// How long its circuit breaker stays open; null if it is closed.
    pub breaker_open_ms: Option<u64>,
}

/// The contents of the store.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StoreView {
    /// Events whose payload is kept.
    pub events: u64,
    /// Ids that the ledger remembers.
    pub ledger_entries: u64,
    /// The size on disk or in the database, in bytes.
    pub bytes: u64,
    /// The encryption keys; null if the store is not encrypted.
    #[serde(default)]
    pub encryption: Option<EncryptionView>,
}

/// What retention deleted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RetentionView {
    /// Events deleted with their payloads.
    pub events_deleted: u64,
    /// Ledger entries deleted.
    pub ledger_deleted: u64,
}

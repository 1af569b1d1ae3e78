//! How much of everything there is.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{EncryptionView, PauseView, TenMinutesView, TrafficView};

/// The whole of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatsView {
    /// The version that answers.
    pub version: String,
    /// When this process started: counts of arrivals begin here.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// The same as a duration.
    pub uptime_seconds: u64,
    /// Arrivals, by source.
    pub sources: Vec<SourceStatsView>,
    /// Work, by destination.
    pub destinations: Vec<DestinationStatsView>,
    /// What the store holds; null for a caller who sees only some sources.
    #[serde(default)]
    pub store: Option<StoreView>,
    /// What was deleted since the start because its window had passed; null for a caller who sees only some sources.
    #[serde(default)]
    pub retention: Option<RetentionView>,
    /// The last ten minutes of the process that answers.
    #[serde(default)]
    pub ten_minutes: TenMinutesView,
    /// What came and went over time; null unless `over` asks for it.
    #[serde(default)]
    pub traffic: Option<TrafficView>,
}

/// What came from a source since the start.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceStatsView {
    /// Its name.
    pub source: String,
    /// Everything that arrived: accepted, duplicates, conflicts and rejected.
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
    /// Ids that the ledger remembers in this source's scope.
    pub ledger_entries: u64,
}

/// The work of a destination.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationStatsView {
    /// Its name; its id, where it is not configured any more.
    pub destination: String,
    /// Its stable id.
    pub destination_id: String,
    /// Whether the configuration has it.
    pub configured: bool,
    /// Waiting for a first attempt.
    pub pending: u64,
    /// Leased.
    pub running: u64,
    /// Waiting for another attempt.
    pub retrying: u64,
    /// Waiting until the destination is resumed or configured again.
    pub held: u64,
    /// Given up.
    pub dead: u64,
    /// When the oldest unfinished one was accepted.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_unfinished_at: Option<Timestamp>,
    /// Who paused it, when and why.
    pub paused: Option<PauseView>,
    /// How long its breaker stays open; null while it is closed.
    pub breaker_open_ms: Option<u64>,
}

/// What the store holds.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StoreView {
    /// Events whose payload is kept.
    pub events: u64,
    /// Ids that the ledger remembers.
    pub ledger_entries: u64,
    /// Bytes on disk or in the database.
    pub bytes: u64,
    /// Its keys; null where it is not encrypted.
    #[serde(default)]
    pub encryption: Option<EncryptionView>,
}

/// What retention deleted.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RetentionView {
    /// Events with their payloads.
    pub events_deleted: u64,
    /// Ledger entries.
    pub ledger_deleted: u64,
}

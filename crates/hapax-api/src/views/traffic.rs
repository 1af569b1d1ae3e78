//! Traffic over time: requests by source and attempts by destination.

use hapax_core::Timestamp;
use hapax_core::store::TimeRange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas;

/// Traffic in the last hour, day or week, across all processes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TrafficView {
    /// The time range.
    #[schema(schema_with = schemas::span)]
    pub range: TimeRange,
    /// The length of one slot.
    pub step_seconds: u64,
    /// The start of each slot, oldest first. Every series has one value per slot.
    #[schema(value_type = Vec<String>)]
    pub slots: Vec<Timestamp>,
    /// By source, ordered by name.
    pub sources: Vec<SourceTrafficView>,
    /// By destination, ordered by name.
    pub destinations: Vec<DestinationTrafficView>,
}

/// The requests of a source.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceTrafficView {
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
    /// The largest gap between an event and one of its duplicates, in milliseconds.
    pub gap_ms_max: u64,
    /// How long responses to the provider took.
    pub ack: PercentilesView,
    /// The same counts by slot.
    pub series: SourceSeriesView,
}

/// The counts of a source by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SourceSeriesView {
    /// New events.
    pub accepted: Vec<u64>,
    /// Duplicates.
    pub duplicates: Vec<u64>,
    /// Requests with a known id and a different body.
    pub conflicts: Vec<u64>,
    /// Refused requests.
    pub rejected: Vec<u64>,
}

/// The attempts of a destination.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationTrafficView {
    /// The destination's name, or its id if it is no longer configured.
    pub destination: String,
    /// The destination's stable id.
    pub destination_id: String,
    /// All attempts.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub completed: u64,
    /// Attempts that failed and will be retried.
    pub failed: u64,
    /// Attempts after which the delivery was dead.
    pub dead: u64,
    /// How long attempts took.
    pub took: PercentilesView,
    /// The same counts by slot.
    pub series: DestinationSeriesView,
}

/// The counts of a destination by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DestinationSeriesView {
    /// Attempts that succeeded.
    pub completed: Vec<u64>,
    /// Attempts that failed and will be retried.
    pub failed: Vec<u64>,
    /// Attempts after which the delivery was dead.
    pub dead: Vec<u64>,
}

/// Percentiles in milliseconds, accurate to within 10% (1% for the last ten minutes); null if nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PercentilesView {
    /// The number of values counted.
    pub count: u64,
    /// The 50th percentile.
    pub p50_ms: Option<f64>,
    /// The 95th percentile.
    pub p95_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
}

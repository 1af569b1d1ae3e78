//! The last ten minutes of the process that answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::traffic::PercentilesView;

/// The last ten minutes of the process that answers. Other replicas have separate figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenMinutesView {
    /// How many of these seconds this process was running.
    pub watched_seconds: u64,
    /// Requests by source.
    pub sources: Vec<SourceTenMinutesView>,
    /// Results of attempts by destination.
    pub destinations: Vec<DestinationTenMinutesView>,
    /// How long durable writes took.
    pub store_write: PercentilesView,
}

/// The requests of a source in the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceTenMinutesView {
    /// The source's name.
    pub source: String,
    /// New events, duplicates and conflicts.
    pub events: u64,
    /// New events.
    pub accepted: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Requests with a known id and a different body.
    pub conflicts: u64,
    /// Requests refused because their signature could not be verified.
    pub unproven: u64,
    /// The share of duplicates in `events`, from 0 to 1; null if there were none.
    pub dedupe_ratio: Option<f64>,
    /// The 95th percentile of the duplicate rates of the last sixty complete 10-second intervals. An interval without
    /// events counts as 0.
    pub dedupe_ratio_p95: f64,
    /// How long responses to the provider took.
    pub ack: PercentilesView,
}

/// The attempts of a destination in the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DestinationTenMinutesView {
    /// The destination's name.
    pub destination: String,
    /// The destination's stable id.
    pub destination_id: String,
    /// Attempts that succeeded.
    pub completed: u64,
    /// Attempts that failed and will be retried.
    pub failed: u64,
    /// Attempts that failed and were the last.
    pub dead: u64,
    /// How long attempts took.
    pub took: PercentilesView,
}

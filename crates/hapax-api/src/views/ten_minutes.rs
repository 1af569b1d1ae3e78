//! The last ten minutes of the process that answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::traffic::PercentilesView;

/// The last ten minutes, of the process that answers alone: other replicas have their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TenMinutesView {
    /// How much of the ten minutes this process was there for.
    pub watched_seconds: u64,
    /// What came, by source.
    pub sources: Vec<SourceTenMinutesView>,
    /// What attempts came to, by destination.
    pub destinations: Vec<DestinationTenMinutesView>,
    /// How long durable writes took.
    pub store_write: PercentilesView,
}

/// What came from a source in ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceTenMinutesView {
    /// Its name.
    pub source: String,
    /// New events, copies and conflicts.
    pub events: u64,
    /// New events.
    pub accepted: u64,
    /// Copies.
    pub duplicates: u64,
    /// Other bodies under a known id.
    pub conflicts: u64,
    /// Requests that were refused because they do not prove who sent them.
    pub unproven: u64,
    /// Copies among the events, from 0 to 1; null if nothing came.
    pub dedupe_ratio: Option<f64>,
    /// The 95th percentile of the ratios of the last sixty whole ten seconds; ten seconds without an event count as 0.
    pub dedupe_ratio_p95: f64,
    /// How long answers to the sender took.
    pub ack: PercentilesView,
}

/// What the attempts of a destination came to in ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DestinationTenMinutesView {
    /// Its name.
    pub destination: String,
    /// Its stable id.
    pub destination_id: String,
    /// Attempts that succeeded.
    pub completed: u64,
    /// Attempts that failed and are made again.
    pub failed: u64,
    /// Attempts that failed and were the last.
    pub dead: u64,
    /// How long attempts took.
    pub took: PercentilesView,
}

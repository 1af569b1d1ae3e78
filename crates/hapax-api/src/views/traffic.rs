//! Traffic over time: what each source received and each destination answered.

use hapax_core::Timestamp;
use hapax_core::store::TimeRange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::schemas;

/// What came and went in the last hour, day or week, over all processes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TrafficView {
    /// How far it looks back.
    #[schema(schema_with = schemas::span)]
    pub range: TimeRange,
    /// The length of one slot.
    pub step_seconds: u64,
    /// The beginning of every slot, oldest first; every series has a number for each.
    #[schema(value_type = Vec<String>)]
    pub slots: Vec<Timestamp>,
    /// By source, in order of their names.
    pub sources: Vec<SourceTrafficView>,
    /// By destination, in order of their names.
    pub destinations: Vec<DestinationTrafficView>,
}

/// What a source received.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceTrafficView {
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
    /// Milliseconds between an event and the latest of its copies: the largest such gap.
    pub gap_ms_max: u64,
    /// How long the answers to the sender took.
    pub ack: PercentilesView,
    /// The same counts slot by slot.
    pub series: SourceSeriesView,
}

/// Counts of a source, slot by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SourceSeriesView {
    /// New events.
    pub accepted: Vec<u64>,
    /// Copies.
    pub duplicates: Vec<u64>,
    /// Other bodies under a known id.
    pub conflicts: Vec<u64>,
    /// Refused requests.
    pub rejected: Vec<u64>,
}

/// What a destination answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationTrafficView {
    /// Its name; its id, where it is not configured any more.
    pub destination: String,
    /// Its stable id.
    pub destination_id: String,
    /// All attempts.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub completed: u64,
    /// Attempts that failed and are made again.
    pub failed: u64,
    /// Attempts after which the delivery was given up.
    pub dead: u64,
    /// How long attempts took.
    pub took: PercentilesView,
    /// The same counts slot by slot.
    pub series: DestinationSeriesView,
}

/// Counts of a destination, slot by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DestinationSeriesView {
    /// Attempts that succeeded.
    pub completed: Vec<u64>,
    /// Attempts that failed and are made again.
    pub failed: Vec<u64>,
    /// Attempts after which the delivery was given up.
    pub dead: Vec<u64>,
}

/// Percentiles in milliseconds, right to within 10% (of the last ten minutes: 1%); null where nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PercentilesView {
    /// How many were counted.
    pub count: u64,
    /// Half of them took no longer.
    pub p50_ms: Option<f64>,
    /// 95 of 100 took no longer.
    pub p95_ms: Option<f64>,
    /// 99 of 100 took no longer.
    pub p99_ms: Option<f64>,
}

//! What others read of this process's counters.

use hapax_core::Timestamp;
use hapax_core::store::{Counts, TimeRange, TrafficRow};

use super::{Format, Refusal, TenMinutes};
use hapax_api::views::RetentionView;

/// The counters of this process, since its start.
pub trait Meter: Send + Sync + 'static {
    /// Everything, in a format of Prometheus, with the gauges that only the store knows.
    fn render(&self, counts: &Counts, now: Timestamp, format: Format) -> String;

    /// The moment, by the clock that the traffic is counted with.
    fn now(&self) -> Timestamp;

    /// What arrived, for each source that anything came from.
    fn arrivals(&self) -> Vec<SourceCounts>;

    /// The rows of a span as they are in the store, with what this process has not written yet.
    fn traffic_on_top_of(&self, stored: Vec<TrafficRow>, span: TimeRange) -> Vec<TrafficRow>;

    /// The last ten minutes.
    fn last_ten_minutes(&self) -> TenMinutes;

    /// The last refusals of a source, newest first; of
    /// [`UNKNOWN_SOURCE`](crate::metrics::UNKNOWN_SOURCE) those of names that no source has.
    fn refusals(&self, source: &str) -> Vec<Refusal>;

    /// What retention deleted.
    fn purged(&self) -> RetentionView;
}

/// What arrived from one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// The source's name.
    pub source: String,
    /// New events.
    pub accepted: u64,
    /// Copies.
    pub duplicates: u64,
    /// Other bodies under a known id.
    pub conflicts: u64,
    /// Refused requests.
    pub rejected: u64,
}

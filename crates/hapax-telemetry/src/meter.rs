//! Read access to this process's counters.

use hapax_core::Timestamp;
use hapax_core::store::{Counts, TimeRange, TrafficRow};

use super::{Format, Refusal, TenMinutes};
use hapax_api::views::RetentionView;

/// This process's counters since its start.
pub trait Meter: Send + Sync + 'static {
    /// All metrics in one of the Prometheus formats, including the gauges that come from the store.
    fn render(&self, counts: &Counts, now: Timestamp, format: Format) -> String;

    /// The current time, by the clock that the traffic is counted with.
    fn now(&self) -> Timestamp;

    /// The counts of each source that has received a request.
    fn arrivals(&self) -> Vec<SourceCounts>;

    /// The rows of a range as stored, merged with the counts that this process has not written yet.
    fn traffic_on_top_of(&self, stored: Vec<TrafficRow>, span: TimeRange) -> Vec<TrafficRow>;

    fn last_ten_minutes(&self) -> TenMinutes;

    /// The last refusals of a source, newest first. [`UNKNOWN_SOURCE`](crate::metrics::UNKNOWN_SOURCE) returns those
    /// for names that no source has.
    fn refusals(&self, source: &str) -> Vec<Refusal>;

    /// What retention has deleted.
    fn purged(&self) -> RetentionView;
}

/// The requests from one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceCounts {
    pub source: String,
    /// New events.
    pub accepted: u64,
    pub duplicates: u64,
    /// Conflicting bodies under a known id.
    pub conflicts: u64,
    /// Refused requests.
    pub rejected: u64,
}

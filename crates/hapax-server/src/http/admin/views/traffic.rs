//! What arrived and what was answered over time, and what needs somebody's attention.

use hapax_core::Timestamp;
use hapax_core::store::{Durations, Span, Traffic};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One span, over all processes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TrafficView {
    /// How far it looks back: `1h`, `24h` or `7d`.
    #[schema(value_type = String, example = "24h")]
    pub span: Span,
    /// The beginning of the first slot.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    /// The length of one slot.
    pub step_seconds: u64,
    /// All sources together.
    pub totals: ArrivalsView,
    /// Duplicates among what was not rejected, from 0 to 1; null before the first.
    pub dedupe_ratio: Option<f64>,
    /// How long answers to senders took.
    pub ack: PercentilesView,
    /// How long attempts took.
    pub handler: PercentilesView,
    /// Each source, by name.
    pub sources: Vec<SourceTrafficView>,
    /// Each destination, by name.
    pub destinations: Vec<DestinationTrafficView>,
    /// What needs attention, the most pressing first.
    pub attention: Vec<AttentionView>,
}

/// What one source received.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceTrafficView {
    /// Its name.
    pub source: String,
    /// The whole span.
    pub totals: ArrivalsView,
    /// Duplicates among what was not rejected, from 0 to 1; null before the first.
    pub dedupe_ratio: Option<f64>,
    /// How long answers took.
    pub ack: PercentilesView,
    /// The longest time between a first event and one of its copies.
    pub gap_ms_max: u64,
    /// One for each slot, oldest first.
    pub series: Vec<ArrivalsView>,
}

/// What one destination did.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationTrafficView {
    /// Its name; its id, where it is not configured any more.
    pub destination: String,
    /// Its stable id.
    pub destination_id: String,
    /// The whole span.
    pub totals: AttemptsView,
    /// How long attempts took.
    pub handler: PercentilesView,
    /// Deliveries that are not finished.
    pub backlog: u64,
    /// When the oldest unfinished one was accepted.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub oldest_unfinished_at: Option<Timestamp>,
    /// Dead letters.
    pub dead: u64,
    /// One for each slot, oldest first.
    pub series: Vec<AttemptsView>,
}

/// What arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ArrivalsView {
    /// New events.
    pub accepted: u64,
    /// Copies.
    pub duplicates: u64,
    /// Other bodies under a known id.
    pub conflicts: u64,
    /// Refused requests.
    pub rejected: u64,
}

/// What attempts came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptsView {
    /// They succeeded.
    pub completed: u64,
    /// They failed and are made again.
    pub failed: u64,
    /// After them the delivery was given up.
    pub dead: u64,
}

/// Durations in milliseconds, right to within 10%; null before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PercentilesView {
    /// Half took no longer.
    pub p50_ms: Option<f64>,
    /// Nineteen of twenty took no longer.
    pub p95_ms: Option<f64>,
    /// Ninety-nine of a hundred took no longer.
    pub p99_ms: Option<f64>,
}

/// Something that somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttentionView {
    /// What kind of thing.
    pub kind: AttentionKind,
    /// The source or destination.
    pub subject: String,
    /// How many, where it can be counted.
    pub count: u64,
    /// What it is, in a sentence.
    pub sentence: String,
    /// The page of the dashboard where it is seen and dealt with.
    pub link: String,
}

/// Kinds of attention, the most pressing first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttentionKind {
    /// Deliveries were given up.
    Dead,
    /// A destination gets nothing because it keeps failing.
    Breaker,
    /// A body differs from the first one under its id.
    Conflict,
    /// A copy came so late that the ledger had nearly forgotten the first.
    Gap,
    /// Requests were refused.
    Refused,
    /// A destination is paused.
    Paused,
}

impl ArrivalsView {
    /// Everything that arrived.
    pub const fn received(&self) -> u64 {
        self.genuine() + self.rejected
    }

    /// Duplicates among what was not rejected.
    pub fn dedupe_ratio(&self) -> Option<f64> {
        let genuine = self.genuine();
        (genuine > 0).then(|| self.duplicates as f64 / genuine as f64)
    }

    const fn genuine(&self) -> u64 {
        self.accepted + self.duplicates + self.conflicts
    }
}

impl From<&Traffic> for ArrivalsView {
    fn from(traffic: &Traffic) -> Self {
        Self {
            accepted: traffic.accepted,
            duplicates: traffic.duplicates,
            conflicts: traffic.conflicts,
            rejected: traffic.rejected,
        }
    }
}

impl From<&Traffic> for AttemptsView {
    fn from(traffic: &Traffic) -> Self {
        Self {
            completed: traffic.completed,
            failed: traffic.failed,
            dead: traffic.dead,
        }
    }
}

impl From<&Durations> for PercentilesView {
    fn from(durations: &Durations) -> Self {
        let at = |share| {
            let found = durations.percentile(share);
            found.map(|took| took.as_micros() as f64 / 1_000.0)
        };
        Self {
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
        }
    }
}

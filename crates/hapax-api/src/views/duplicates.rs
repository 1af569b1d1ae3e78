//! Duplicate analytics: how often and how late each source sends duplicates, and whether its ids are reliable.

use hapax_core::store::TimeRange;
use hapax_core::{EventId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PercentilesView;
use crate::schemas;

/// Duplicates by source in the last hour, day or week, across all processes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DuplicateStatsView {
    /// The time range.
    #[schema(schema_with = schemas::span)]
    pub range: TimeRange,
    /// The start of the range.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// The limitations of these figures.
    pub note: String,
    /// By source, highest duplicate rate first.
    pub sources: Vec<SourceDuplicatesView>,
}

/// The duplicates of one source.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceDuplicatesView {
    /// The name of the source.
    pub source: String,
    /// New events, duplicates and conflicts.
    pub received: u64,
    /// New events.
    pub accepted: u64,
    /// Duplicates.
    pub duplicates: u64,
    /// Requests with a known id and a different body.
    pub conflicts: u64,
    /// The share of duplicates in `received`, from 0 to 1; null if nothing was received.
    pub dedupe_ratio: Option<f64>,
    /// Duplicates by the time since the first delivery.
    pub gaps: Vec<GapClassView>,
    /// The same gaps as percentiles.
    pub gap: PercentilesView,
    /// The largest of these gaps, exact.
    pub gap_ms_max: u64,
    /// Whether the ledger window is long enough.
    pub window: WindowView,
    /// The ids with the most duplicates.
    pub redelivered: Vec<RedeliveredView>,
    /// New events with the same body as a recent event under another id.
    pub same_bodies: u64,
    /// Findings to investigate.
    pub findings: Vec<FindingView>,
    /// New events by slot, oldest first.
    pub accepted_series: Vec<u64>,
    /// Duplicates by slot, oldest first.
    pub duplicates_series: Vec<u64>,
}

/// Duplicates by the time since the first delivery. The bounds of a class are accurate to within 10%.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GapClassView {
    /// The name of the class, such as `up to 10 min`.
    pub label: String,
    /// The upper bound; null for the last class.
    pub up_to_seconds: Option<u64>,
    /// The number of duplicates.
    pub duplicates: u64,
}

/// Whether the ledger window is long enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WindowView {
    /// The ledger window; null if the source is no longer configured.
    pub ledger_window_seconds: Option<u64>,
    /// The shortest window that the configuration allows for this provider.
    pub least_seconds: Option<u64>,
    /// The largest gap as a share of the window.
    pub used: Option<f64>,
    /// What to do about the window.
    pub advice: WindowAdvice,
    /// The recommended window.
    pub recommended_seconds: Option<u64>,
    /// A sentence that explains the advice.
    pub sentence: String,
}

/// What to do about a ledger window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowAdvice {
    /// The window is long enough.
    Fine,
    /// Raise it: duplicates arrive almost as late as the ledger forgets ids.
    Raise,
    /// It can be lowered: a much shorter window would suffice.
    MayLower,
    /// There is nothing to base advice on: no duplicates, or no window.
    Unknown,
}

/// An id that was delivered more than once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RedeliveredView {
    /// The provider's id.
    pub event_id: String,
    /// The Hapax id of the first event; null if the ledger no longer knows the id.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub id: Option<EventId>,
    /// All duplicates since the first delivery; null if the ledger no longer knows the id.
    pub duplicates: Option<u64>,
    /// Duplicates within the range. An upper bound, because they are counted in a table of limited size.
    pub duplicates_at_most: u64,
    /// When the first delivery arrived.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_at: Option<Timestamp>,
    /// When the last duplicate arrived.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_at: Option<Timestamp>,
    /// Milliseconds between these two: the largest gap with this id.
    pub gap_ms_max: Option<u64>,
}

/// A finding about a source that needs investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FindingView {
    /// The kind of finding.
    pub kind: FindingKind,
    /// What it means and what to do.
    pub sentence: String,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The ledger window is too short.
    Window,
    /// The provider sends the same event under different ids.
    UnstableIds,
    /// The provider sends different events under the same id.
    ReusedIds,
}

//! Duplicate analytics: how often each sender repeats itself, how late, and whether its ids can be trusted.

use hapax_core::store::TimeRange;
use hapax_core::{EventId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PercentilesView;
use crate::schemas;

/// The copies of each source in the last hour, day or week, over all processes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DuplicateStatsView {
    /// How far it looks back.
    #[schema(schema_with = schemas::span)]
    pub range: TimeRange,
    /// The beginning of what was looked at.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// What the figures do not say.
    pub note: String,
    /// By source, those with the largest share of copies first.
    pub sources: Vec<SourceDuplicatesView>,
}

/// The copies of one source.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceDuplicatesView {
    /// Its name.
    pub source: String,
    /// New events and copies and conflicts.
    pub received: u64,
    /// New events.
    pub accepted: u64,
    /// Copies.
    pub duplicates: u64,
    /// Other bodies under a known id.
    pub conflicts: u64,
    /// Copies among what was received, from 0 to 1; null before the first.
    pub dedupe_ratio: Option<f64>,
    /// Copies by the time between the first and the copy.
    pub gaps: Vec<GapClassView>,
    /// The same as percentiles.
    pub gap: PercentilesView,
    /// The largest of these gaps, exact.
    pub gap_ms_max: u64,
    /// Whether the ledger remembers long enough.
    pub window: WindowView,
    /// The ids with most copies.
    pub redelivered: Vec<RedeliveredView>,
    /// New events whose very body came shortly before, under another id.
    pub same_bodies: u64,
    /// What to look into.
    pub findings: Vec<FindingView>,
    /// New events, slot by slot, oldest first.
    pub accepted_series: Vec<u64>,
    /// Copies, slot by slot, oldest first.
    pub duplicates_series: Vec<u64>,
}

/// Copies that came within a certain time of the first. The edges of a class are right to within 10%.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GapClassView {
    /// Its name, such as `up to 10 m`.
    pub label: String,
    /// Its upper end; null for the last one.
    pub up_to_seconds: Option<u64>,
    /// How many copies.
    pub duplicates: u64,
}

/// Whether the ledger remembers ids for long enough.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WindowView {
    /// How long it remembers; null for a source that is not configured any more.
    pub ledger_window_seconds: Option<u64>,
    /// The shortest window that the configuration allows for this sender.
    pub least_seconds: Option<u64>,
    /// The largest gap as a share of the window.
    pub used: Option<f64>,
    /// What to do.
    pub advice: WindowAdvice,
    /// The window to set instead.
    pub recommended_seconds: Option<u64>,
    /// All of it in one sentence.
    pub sentence: String,
}

/// What to do about a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowAdvice {
    /// Nothing: it is long enough.
    Fine,
    /// Raise it: copies come nearly as late as ids are forgotten.
    Raise,
    /// It may be lowered: a much shorter one would do.
    MayLower,
    /// There is nothing to judge by: no copies, or no window.
    Unknown,
}

/// An id that came again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RedeliveredView {
    /// The sender's id.
    pub event_id: String,
    /// Our id of the first event; null where the ledger does not know it any more.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub id: Option<EventId>,
    /// All copies since the first; null where the ledger does not know it any more.
    pub duplicates: Option<u64>,
    /// Copies in the time that was looked at, at most: this is a count in a bounded table.
    pub duplicates_at_most: u64,
    /// When the first came.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_at: Option<Timestamp>,
    /// When the last copy came.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_at: Option<Timestamp>,
    /// Milliseconds between these two: the largest gap with this id.
    pub gap_ms_max: Option<u64>,
}

/// Something about a sender to look into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FindingView {
    /// What kind.
    pub kind: FindingKind,
    /// What it means and what to do.
    pub sentence: String,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The window is too short.
    Window,
    /// The sender gives the same event other ids.
    UnstableIds,
    /// The sender gives other events the same id.
    ReusedIds,
}

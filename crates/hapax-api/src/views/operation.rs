//! What operators do, and the results.

use hapax_core::store::{EventQuery, ReplayJobState, ReplayMode};
use hapax_core::{EventId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CoverageView, EventSummaryView};
use crate::schemas;

/// The result of replaying a single event.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayedView {
    /// The event.
    #[schema(value_type = String, format = "uuid")]
    pub event: EventId,
    /// Which deliveries were requested.
    #[schema(schema_with = schemas::replay_mode)]
    pub mode: ReplayMode,
    /// The number of deliveries that were requeued.
    pub deliveries: u32,
    /// The generation of the requeued deliveries.
    pub generation: u32,
    /// Destinations that were skipped: they applied the event so long ago that they may no longer recognize its key.
    #[serde(default)]
    pub left_alone: Vec<String>,
}

/// The result of erasing one page of events.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ErasureView {
    /// The number of events erased.
    pub erased: u64,
    /// The number of their deliveries that were discarded, including dead letters.
    pub discarded: u64,
    /// The number of events that had been erased before.
    pub before: u64,
    /// The number of events left unchanged because they have unfinished deliveries.
    pub unfinished: u64,
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
    /// How much of the store was searched.
    pub coverage: CoverageView,
}

/// A preview of a bulk replay.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayPreviewView {
    /// Always true: nothing was changed.
    pub dry_run: bool,
    /// The exact number of events that match now.
    pub matched: u64,
    /// A few of the events, newest first.
    pub samples: Vec<EventSummaryView>,
    /// How much of the store was searched, and would be by the replay.
    pub coverage: CoverageView,
}

/// One page of bulk replays, running and finished, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ReplaysView {
    /// The replays.
    pub replays: Vec<ReplayJobView>,
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

/// A bulk replay: a stored job that resumes after a restart.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayJobView {
    /// The id of the job.
    pub id: String,
    /// The state of the job.
    #[schema(schema_with = schemas::replay_state)]
    pub state: ReplayJobState,
    /// The events to replay.
    #[schema(schema_with = schemas::event_query)]
    pub query: EventQuery,
    /// The same query in the query language.
    pub q: String,
    /// Which of their deliveries are replayed.
    #[schema(schema_with = schemas::replay_mode)]
    pub mode: ReplayMode,
    /// Only deliveries to this destination (its stable id).
    pub to: Option<String>,
    /// The maximum number of events per second.
    pub rate_per_second: u32,
    /// Only events accepted before this time.
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
    /// The caller who started it.
    pub who: String,
    /// The reason given.
    pub why: String,
    /// The progress so far.
    pub tally: TallyView,
}

/// The progress of a bulk replay.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TallyView {
    /// Events examined.
    pub matched: u64,
    /// Deliveries requeued.
    pub replayed: u64,
    /// Events refused because they had unfinished deliveries.
    pub unfinished: u64,
    /// Events skipped because no delivery fits the mode, or because the event is gone.
    pub skipped: u64,
    /// Bodies read because the query matches values in them; a search ends after 50,000.
    pub bodies_read: u64,
}

/// The result of discarding or restoring dead letters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct DisposedView {
    /// The number of deliveries that changed.
    pub changed: u64,
    /// Whether the limit of one request was reached; repeat the request for the rest.
    pub more: bool,
}

/// What the ledger knows about an id.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LedgerView {
    /// The name of the source.
    pub source: String,
    /// The scope in which the id is unique.
    pub scope: String,
    /// The provider's id.
    pub event_id: String,
    /// The Hapax id of the first event. Its payload may have expired.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// The generation of the identity.
    pub generation: u32,
    /// When the first event was committed.
    #[schema(value_type = String, format = DateTime)]
    pub first_seen: Timestamp,
    /// When the ledger may forget the id.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Seconds until then; 0 once that time has passed.
    pub window_left_seconds: u64,
    /// SHA-256 of the first event's body, in hexadecimal.
    pub body_sha256: String,
    /// The number of duplicates recorded so far. Recent ones may be missing until they are flushed.
    pub duplicates: u64,
    /// When the last duplicate arrived; null if there is none.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_at: Option<Timestamp>,
}

/// An id that the ledger forgot on request.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgottenView {
    /// The name of the source.
    pub source: String,
    /// The scope in which the id was unique.
    pub scope: String,
    /// The provider's id.
    pub event_id: String,
    /// The generation that the next event with this id will have.
    pub next_generation: u32,
}

/// A conflicting body that was released as a separate event.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReleasedView {
    /// The event with the original id.
    #[schema(value_type = String, format = "uuid")]
    pub first: EventId,
    /// SHA-256 of the body, in hexadecimal.
    pub body_sha256: String,
    /// The new event.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
}

/// The result of verifying the audit trail.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditVerifiedView {
    /// Whether every entry of the chain is present and unchanged.
    pub intact: bool,
    /// The last entry, as `SEQ:HASH`. Keep it, and pass it as `head` in a later verification. Null if there are no
    /// entries.
    pub head: Option<String>,
    /// The number of entries checked.
    pub entries: u64,
    /// The sequence number of the last entry that retention has deleted; 0 if it has deleted none.
    pub deleted: u64,
    /// Entries outside the chain that were written after it began. Replicas of an earlier version write them during
    /// an upgrade; at any other time, they were written by something other than Hapax.
    pub unchained: u64,
    /// Entries from before the upgrade that began the chain. Nothing proves them.
    pub before: u64,
    /// The first entry that has changed since it was written.
    pub broken: Option<AuditBreakView>,
}

/// Where the audit trail is broken.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditBreakView {
    /// The sequence number of the entry. All entries before it are intact.
    pub seq: u64,
    /// What is wrong with it.
    pub why: String,
}

/// One page of the audit trail, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AuditPageView {
    /// The entries.
    pub audit: Vec<AuditView>,
    /// The `cursor` of the next page; null on the last page.
    pub next: Option<String>,
}

/// An action of an operator.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    /// When it happened.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who did it.
    pub who: String,
    /// The action, such as `replay`.
    pub action: String,
    /// The target of the action.
    pub subject: String,
    /// Further details.
    pub detail: String,
}

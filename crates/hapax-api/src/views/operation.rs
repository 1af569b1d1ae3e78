//! What operators do, and what came of it.

use hapax_core::store::{EventQuery, ReplayJobState, ReplayMode};
use hapax_core::{EventId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{CoverageView, EventSummaryView};
use crate::schemas;

/// A single event that was put back to work.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayedView {
    /// The event.
    #[schema(value_type = String, format = "uuid")]
    pub event: EventId,
    /// Which of its deliveries were asked for.
    #[schema(schema_with = schemas::replay_mode)]
    pub mode: ReplayMode,
    /// How many deliveries were put back.
    pub deliveries: u32,
    /// Of which generation.
    pub generation: u32,
    /// Destinations that were left alone: they applied the event this long ago that they may have forgotten it.
    #[serde(default)]
    pub left_alone: Vec<String>,
}

/// A page of events that were erased.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ErasureView {
    /// Events that were erased.
    pub erased: u64,
    /// Deliveries of them that were discarded, dead letters among them.
    pub discarded: u64,
    /// Events that had been erased before.
    pub before: u64,
    /// Events that were left as they are, because work is unfinished.
    pub unfinished: u64,
    /// What to pass as `cursor` to go on; null at the end.
    pub next: Option<String>,
    /// What of the store was looked at.
    pub coverage: CoverageView,
}

/// What a bulk replay would do.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayPreviewView {
    /// Always true: nothing was changed.
    pub dry_run: bool,
    /// How many events match, exactly, at this moment.
    pub matched: u64,
    /// A few of them, newest first.
    pub samples: Vec<EventSummaryView>,
    /// What of the store was looked at, and would be.
    pub coverage: CoverageView,
}

/// One page of bulk replays, newest first, over or not.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ReplaysView {
    /// The replays.
    pub replays: Vec<ReplayJobView>,
    /// What to pass as `cursor` to go on; null at the end.
    pub next: Option<String>,
}

/// A bulk replay: a stored job that goes on after a restart.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayJobView {
    /// Its id.
    pub id: String,
    /// Where it stands.
    #[schema(schema_with = schemas::replay_state)]
    pub state: ReplayJobState,
    /// Which events.
    #[schema(schema_with = schemas::event_query)]
    pub query: EventQuery,
    /// The same in the query language.
    pub q: String,
    /// Which of their deliveries.
    #[schema(schema_with = schemas::replay_mode)]
    pub mode: ReplayMode,
    /// Only this destination (its stable id).
    pub to: Option<String>,
    /// At most this many events a second.
    pub rate_per_second: u32,
    /// Only events accepted before.
    #[schema(value_type = String, format = DateTime)]
    pub as_of: Timestamp,
    /// Who asked.
    pub who: String,
    /// Why.
    pub why: String,
    /// What it did so far.
    pub tally: TallyView,
}

/// What a bulk replay did so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct TallyView {
    /// Events looked at.
    pub matched: u64,
    /// Deliveries put back.
    pub replayed: u64,
    /// Events refused because work was unfinished.
    pub unfinished: u64,
    /// Events where nothing fitted the mode, or that were gone.
    pub skipped: u64,
    /// Bodies read because the query asks for values in them; a walk ends after 50,000.
    pub bodies_read: u64,
}

/// What became of dead letters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct DisposedView {
    /// How many deliveries changed.
    pub changed: u64,
    /// Whether the limit of one request was reached: ask again for the rest.
    pub more: bool,
}

/// What the ledger knows of an id.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LedgerView {
    /// The source that was asked about.
    pub source: String,
    /// Where the id is unique.
    pub scope: String,
    /// The sender's id.
    pub event_id: String,
    /// Our id of the first event; its payload may have expired.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// Its generation.
    pub generation: u32,
    /// When the first was committed.
    #[schema(value_type = String, format = DateTime)]
    pub first_seen: Timestamp,
    /// When the ledger may forget it.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Seconds until then; 0 once it may.
    pub window_left_seconds: u64,
    /// SHA-256 of the first one's body, in hexadecimal.
    pub body_sha256: String,
    /// Copies that came after the first, as far as they were flushed.
    pub duplicates: u64,
    /// When the last copy came; null before there is one.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_at: Option<Timestamp>,
}

/// An id that the ledger forgot on demand.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ForgottenView {
    /// The source.
    pub source: String,
    /// Where the id was unique.
    pub scope: String,
    /// The sender's id.
    pub event_id: String,
    /// The generation that the next event with this id will have.
    pub next_generation: u32,
}

/// A quarantined body that is an event of its own now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReleasedView {
    /// The event whose id it came under.
    #[schema(value_type = String, format = "uuid")]
    pub first: EventId,
    /// SHA-256 of the body, in hexadecimal.
    pub body_sha256: String,
    /// The new event.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
}

/// Whether the audit trail is as it was written.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditVerifiedView {
    /// Whether every entry of the chain is there and unchanged.
    pub intact: bool,
    /// The last entry, as `SEQ:HASH`. Keep it, and pass it as `head` later. Null while there is no entry.
    pub head: Option<String>,
    /// How many entries were checked.
    pub entries: u64,
    /// The number of the last entry that retention has deleted; 0 where it has deleted none.
    pub deleted: u64,
    /// Entries outside the chain though it had begun. Replicas of an earlier version write them during an upgrade; at any
    /// other time, a stranger did.
    pub unchained: u64,
    /// Entries from before the upgrade with which the chain began; nothing proves them.
    pub before: u64,
    /// The first entry that is not as it was written.
    pub broken: Option<AuditBreakView>,
}

/// Where the audit trail is broken.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditBreakView {
    /// The number of the entry; those before it are intact.
    pub seq: u64,
    /// What is wrong with it.
    pub why: String,
}

/// One page of the audit trail, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AuditPageView {
    /// The entries.
    pub audit: Vec<AuditView>,
    /// What to pass as `cursor` to go on; null at the end.
    pub next: Option<String>,
}

/// Something an operator did.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who.
    pub who: String,
    /// What, such as `replay`.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Anything else worth knowing.
    pub detail: String,
}

//! The store's contract. Every backend keeps every sentence here; `hapax-store-laws` checks them.
//!
//! - Each method is **one atomic domain step** per item: it happens whole or not at all, and when
//!   the method returns, it is durable.
//! - **Uniqueness comes from the store**: of any number of concurrent `accept`s of one identity,
//!   exactly one is [`Claim::New`]; the others see it only once it is durable.
//! - **Every lease is fenced**: `extend`, `finish`, `rescue` change a row only while it is running
//!   under the very token shown; otherwise the answer is [`Written::LeaseLost`] and nothing changed.
//! - **Time is the store's own**, read when the step runs: a caller passes durations, never "now".
//! - Dropping a returned future does not tear the step: it happens or not, never half.

mod admin;
mod alive;
mod audit;
mod body_term;
mod erase;
mod error;
mod query;
mod reseal;
mod sealed;
mod store_migration;
mod traffic;

use std::time::Duration;

use async_trait::async_trait;

pub use admin::{
    ALERTS_MAX, Actor, AlertState, AuditEntry, AuditRecord, Binding, BodyNote, DeadQuery, Disposal, Driver,
    DuplicateNote, IndexedField, JobHold, Operations, Pause, ReplayJob, ReplayJobId, ReplayJobState,
    ReplayTally, SAVED_SEARCHES_MAX, SavedSearch, SourceState,
};
pub use alive::{Alive, AliveReport, Patience};
pub use audit::{
    AUDIT_KEEP, AuditBreak, AuditCheck, AuditHash, AuditHead, AuditLink, AuditVerified, NotAHead,
    expired_audit,
};
pub use body_term::{BodyTerm, IndexedValue, POINTER_BYTES_MAX, is_pointer, json_text, value_at};
pub use erase::{Erased, Unfinished};
pub use error::Error;
pub use query::{
    AttemptView, Backlog, ConflictView, Counts, Cursor, DeadGroup, DeliveryView, DuplicateCount,
    DuplicateTally, EventPage, EventQuery, EventRecord, EventSummary, Has, LedgerCount, ListOrder,
};
pub use reseal::Resealed;
pub use sealed::{
    KEYRING_NAME, ReadStored, SEALED_EXTRA_BYTES, SEALED_MARK, StoredBodies, is_sealed, plain_body_bytes,
};
pub use store_migration::{
    AuditNumbered, Census, ConflictRecord, EventContents, IdentityRecord, ImportBegun, ImportMark, InLane,
    JobRecord, MigrationCursor, MigrationPage, NotACursor, Origin, OutcomeRecord, PAGE_BYTES_MAX, Purpose,
    Record, StoreMigration, WorkRecord,
};
pub use traffic::{Durations, NotATimeRange, Redelivered, Subject, TimeRange, Traffic, TrafficRow};

use crate::{
    Attempt, AttemptOutcome, BodyHash, ContentHash, DeliveryState, DestinationId, ErrorClass, EventId,
    Generation, Headers, Hold, Identity, Key, Lane, Leased, NewEvent, Owner, SourceName, Timestamp, Token,
};

/// A lease that expired this often makes the delivery dead: it takes its worker down.
pub const LOST_MAX: u32 = 3;
/// Variants kept for one identity; further ones are only counted.
pub const CONFLICTS_MAX: usize = 8;
/// Gaps between copies that are kept for one identity.
pub const GAPS_MAX: usize = 20;

/// The hot path and what must be atomic with it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Claims identities, stores payloads and enqueues work: for each event in one atomic, durable
    /// write. One answer for each request, in order; within it one claim for each event, in order.
    /// A request fails alone: its neighbours in the batch are not affected. After an error the
    /// caller may send the same request again with the same ids: what was written is then found
    /// as [`Claim::Seen`] with the caller's own id.
    ///
    /// A delivery with `hand_over` is stored running, with a token, its first attempt counted.
    ///
    /// An event with `claimed_body` claims its body, too. Where the body is another identity's in its scope, the event
    /// is new but held: it is flagged as the same body as that one, and each of its deliveries is dead with
    /// [`crate::ErrorClass::SameBody`] from the start, in no lane's way, until [`ReplayMode::Held`] releases it. Of any
    /// number of concurrent `accept`s of one body under several identities, one at most is not held. The claim lasts as
    /// long as the first one's ledger entry was to; what [`Operations::note_bodies`] remembers counts as claimed.
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>>;

    /// Keeps bodies that came under identities whose first bodies were others. At most [`CONFLICTS_MAX`] different
    /// ones for each identity, those that come first in the call before later ones; the same one again is counted. One
    /// answer for each, in order. A variant fails alone: its neighbours in the call are not affected.
    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>>;

    /// Leases due deliveries of one destination, the longest due first, each with a new token and
    /// its attempt counted. Of a lane, only the head is ever due.
    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error>;

    /// Moves the end of leases to `lease_for` from now.
    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error>;

    /// Records what became of attempts. Completed and dead deliveries leave the table of unfinished
    /// work and become outcomes; the next in their lane becomes due (after a dead one: by its
    /// [`crate::OnDead`]). One that is released is due since its acceptance, before what came later.
    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error>;

    /// Takes back deliveries whose lease has expired: a new token, due now, `lost + 1`, the attempt
    /// uncounted; after [`LOST_MAX`] losses dead with [`crate::ErrorClass::Lost`].
    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error>;

    /// Notes on one shard that an owner lives, and takes back what owners have leased there that are dead (see
    /// [`Patience`]), as `rescue` does and whenever their leases end. An owner that never reported there is not dead.
    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error>;

    /// How many parts the store has that can fail by themselves. Each has leases and reports of its own.
    fn shards(&self) -> usize {
        1
    }

    /// The shard that has the leases of an event.
    fn shard_of(&self, _event: EventId) -> usize {
        0
    }

    /// Makes the retrying deliveries of an event due now; how many those are. What else holds them
    /// (a pause, their lane) still does, and what is not retrying is not touched.
    async fn hasten(&self, event: EventId) -> Result<u32, Error>;

    /// Puts finished deliveries back to work, in place, due now, with a new token and their
    /// attempts at zero; refuses where work is unfinished. The earlier outcome stays as history.
    /// What a job has put back before, the same job does not put back again: it may repeat an order.
    ///
    /// In a lane a delivery takes the place of its acceptance: it runs before those that were accepted
    /// later and wait, and before a head that is due and pending. A head that runs, or that is to be
    /// tried again, keeps its turn. A dead delivery that holds its lane holds up those after it only.
    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error>;

    /// Lets an identity be accepted again, as its next generation. Refuses while work is unfinished.
    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error>;

    /// What the ledger knows of an identity. A forgotten one is not found. Accepts may wait for it: it is quick, and waits
    /// for no search.
    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error>;

    /// One event with everything that happened to it; `None` once its payload has expired.
    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error>;

    /// Events, in the order of the query. Pages do not skip or repeat under concurrent writes.
    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error>;

    /// How much of everything there is.
    async fn counts(&self) -> Result<Counts, Error>;

    /// Deletes what has outlived its window: at most about `limit` events and as many ledger entries, so
    /// that it never stalls an accept. Neither waits for the other, and what other processes are just
    /// deleting is left to them. Unfinished work and its event never go; a dead letter's event stays for its
    /// `dead_before`, discarded or not; a ledger entry goes only after its event.
    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error>;

    /// Changes whenever the connection was re-made: what was remembered from before may be gone.
    fn connection_epoch(&self) -> u64;
}

/// A store with its other two parts.
pub trait Backend: Store + Operations + StoreMigration {}
impl<T: Store + Operations + StoreMigration> Backend for T {}

/// One request's events. Each is claimed by itself.
#[derive(Clone, Debug)]
pub struct AcceptRequest {
    /// At least one.
    pub events: Vec<NewEvent>,
}

/// What became of one event in `accept`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is the first; it is stored.
    New {
        /// 0, unless the identity was forgotten before.
        generation: Generation,
        /// For each delivery, in order: the token, where it was handed over.
        tokens: Vec<Option<Handed>>,
    },
    /// Its identity was taken, durably. The caller compares the hashes.
    Seen(LedgerEntry),
}

/// A delivery that was stored already leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The lease's token.
    pub token: Token,
    /// When it ends unless extended.
    pub lease_until: Timestamp,
}

/// What the ledger keeps of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The id of the first event.
    pub id: EventId,
    /// Its generation.
    pub generation: Generation,
    /// When the first was committed.
    pub first_seen: Timestamp,
    /// When the ledger may forget it.
    pub expires_at: Timestamp,
    /// SHA-256 of the first one's raw bytes.
    pub raw_hash: BodyHash,
    /// The first one's content hash, where its preset has a rule.
    pub content_hash: Option<ContentHash>,
}

/// Another body under a known identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingBody {
    /// The identity's key.
    pub key: Key,
    /// The id of the first event.
    pub first: EventId,
    /// The source that received it.
    pub source: SourceName,
    /// SHA-256 of its raw bytes.
    pub raw_hash: BodyHash,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Its headers.
    pub headers: Headers,
    /// Its body.
    pub body: bytes::Bytes,
}

impl ConflictingBody {
    /// Refuses one whose event cannot be of its identity: the ids of events carry the bucket of their key.
    ///
    /// # Errors
    /// [`Error::Rejected`].
    pub fn check(&self) -> Result<(), Error> {
        if self.first.bucket() == self.key.bucket() {
            return Ok(());
        }
        Err(Error::Rejected {
            message: format!("the id {} was made for another event", self.first),
        })
    }
}

/// What became of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictRecorded {
    /// Kept.
    Kept,
    /// The same body was kept before; counted.
    Again,
    /// [`CONFLICTS_MAX`] others are kept already; not kept.
    Full,
}

/// A request for work.
#[derive(Clone, Debug)]
pub struct LeaseOrder {
    /// Who will run it.
    pub owner: Owner,
    /// For which destination.
    pub destination: DestinationId,
    /// At most this many.
    pub limit: u32,
    /// For how long.
    pub lease_for: Duration,
    /// Which ones.
    pub candidates: Candidates,
}

/// Deliveries whose lease was lost are kept apart: one of them may be what kills its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Candidates {
    /// Those whose lease was never lost.
    Fresh,
    /// Those whose lease was lost before.
    Suspect,
}

/// What `lease` found.
#[derive(Clone, Debug, Default)]
pub struct LeaseBatch {
    /// The leased deliveries.
    pub leased: Vec<Leased>,
    /// When the next of these candidates is due; in the past if more are due now.
    pub next_due: Option<Timestamp>,
}

/// The outcome of a fenced write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was written.
    Applied,
    /// The lease was not held any more; nothing was written. Abort what still runs.
    LeaseLost,
}

/// The end of an attempt.
#[derive(Clone, Debug)]
pub struct Report {
    /// The lease it ran under.
    pub hold: Hold,
    /// What to keep of it; none when it was released untried.
    pub attempt: Option<Attempt>,
    /// What follows.
    pub outcome: AttemptOutcome,
}

/// A delivery whose lease had expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// The event.
    pub event: EventId,
    /// The destination.
    pub destination: DestinationId,
    /// How often its lease was lost by now.
    pub lost: u32,
}

/// Which deliveries a replay puts back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    /// Only dead ones (and discarded ones).
    Failed,
    /// Completed ones too, under the same key: a destination that deduplicates does nothing.
    All,
    /// All of them as the next generation, under new keys: it takes effect again.
    Force,
    /// Only those that were held because of their body, whom no other mode reaches: an operator releases them.
    Held,
}

/// One event to replay.
#[derive(Clone, Debug)]
pub struct ReplayOrder {
    /// The event.
    pub event: EventId,
    /// Which of its deliveries.
    pub mode: ReplayMode,
    /// Only this destination; it is created where the event never went there.
    pub to: Option<ReplayTarget>,
    /// The job that asks, if one does.
    pub job: Option<ReplayJobId>,
}

impl ReplayOrder {
    /// Whether a finished delivery is put back: its state fits the mode, and this job is none of
    /// `replays`, those that ever put it back.
    pub fn chooses(
        &self,
        state: DeliveryState,
        error: Option<ErrorClass>,
        replays: impl IntoIterator<Item = ReplayJobId>,
    ) -> bool {
        let fits = match state {
            DeliveryState::Dead | DeliveryState::Discarded => {
                (error == Some(ErrorClass::SameBody)) == (self.mode == ReplayMode::Held)
            }
            DeliveryState::Completed => match self.mode {
                ReplayMode::All | ReplayMode::Force => true,
                ReplayMode::Failed | ReplayMode::Held => false,
            },
            DeliveryState::Pending | DeliveryState::Running | DeliveryState::Retrying => false,
        };
        fits && self
            .job
            .is_none_or(|job| replays.into_iter().all(|replay| replay != job))
    }
}

/// A destination for a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayTarget {
    /// The destination.
    pub destination: DestinationId,
    /// The lane to join, where it keeps order.
    pub lane: Option<Lane>,
}

/// What became of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// Put back to work.
    Again {
        /// How many deliveries.
        deliveries: u32,
        /// Of which generation.
        generation: Generation,
    },
    /// Refused: work is unfinished.
    Unfinished,
    /// No delivery fits the mode.
    Nothing,
    /// There is no such event, or its payload has expired or was erased.
    NotFound,
}

/// What became of `forget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// The next one with this identity is new.
    Done {
        /// The generation it will have.
        next: Generation,
    },
    /// Refused: work is unfinished.
    Unfinished,
    /// The ledger does not know it.
    NotFound,
}

/// What may be deleted.
#[derive(Clone, Debug)]
pub struct PurgeOrder {
    /// For each source, which payloads.
    pub windows: Vec<PurgeWindow>,
    /// Ledger entries that expired before this moment.
    pub ledger_before: Timestamp,
    /// At most about this many rows of each kind.
    pub limit: u32,
}

/// Which payloads of a source have outlived their window.
#[derive(Clone, Debug)]
pub struct PurgeWindow {
    /// The source.
    pub source: SourceName,
    /// Events received before this moment.
    pub payload_before: Timestamp,
    /// Events with a dead or discarded delivery that died before this moment.
    pub dead_before: Timestamp,
}

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Purged {
    /// Events with their payloads, attempts and outcomes.
    pub events: u64,
    /// Ledger entries.
    pub ledger: u64,
    /// Whether there may be more to delete now.
    pub more: bool,
}

//! The store's contract. Every backend keeps every sentence here; `hapax-store-laws` checks them.
//!
//! - Each method is **one atomic domain step** per item: it takes effect completely or not at all, and is durable when
//!   the method returns.
//! - **The store guarantees uniqueness**: of any number of concurrent `accept`s of one identity, exactly one is
//!   [`Claim::New`]; the others see it only once it is durable.
//! - **Every lease is fenced**: `extend`, `finish` and `rescue` change a row only while it is running under exactly the
//!   token presented; otherwise the result is [`Written::LeaseLost`] and nothing changed.
//! - **Time is the store's own**, read when the step runs: a caller passes durations, never "now".
//! - Dropping a returned future cannot leave a step half done: it takes effect completely or not at all.

mod admin;
mod alive;
mod audit;
mod body_note;
mod erase;
mod error;
mod query;
mod replay_job_id;
mod reseal;
mod sealed;
mod store_migration;
mod traffic;
mod values;

use std::time::Duration;

use async_trait::async_trait;

pub use admin::{
    DeadQuery, Disposal, Driver, DuplicateNote, IndexedField, JobHold, Operations, Pause, ReplayJob,
    ReplayJobState, ReplayTally,
};
pub use alive::{Alive, AliveReport, Patience};
pub use audit::{
    AUDIT_KEEP, Actor, AuditBreak, AuditCheck, AuditEntry, AuditHash, AuditHead, AuditLink, AuditRecord,
    AuditVerified, NotAHead, expired_audit,
};
pub use body_note::{Binding, BodyNote};
pub use erase::{Erased, Unfinished};
pub use error::Error;
pub use query::{
    AttemptView, Backlog, ConflictView, Counts, Cursor, DeadGroup, DeliveryView, DuplicateCount,
    DuplicateTally, EventPage, EventQuery, EventRecord, EventSummary, Has, LedgerCount, ListOrder,
};
pub use replay_job_id::ReplayJobId;
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
pub use values::{
    ALERTS_MAX, Expected, NamedValue, SAVED_SEARCHES_MAX, SavedSearch, Swapped, ValueSpace, ValueSwap,
};

pub use crate::body_term::{BodyTerm, IndexedValue};
use crate::{
    Attempt, AttemptOutcome, BodyHash, ContentHash, DeliveryState, DestinationId, ErrorClass, EventId,
    Generation, Headers, Hold, Identity, Key, Lane, Leased, NewEvent, Owner, SourceName, Timestamp, Token,
};

/// A delivery whose lease expired this often is dead: it probably crashes its worker.
pub const LOST_MAX: u32 = 3;
/// The maximum number of conflicting bodies kept for one identity; further ones are only counted.
pub const CONFLICTS_MAX: usize = 8;
/// The maximum number of gaps between duplicates kept for one identity.
pub const GAPS_MAX: usize = 20;

/// The hot path, and everything that must be atomic with it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Claims identities, stores payloads and enqueues deliveries: for each event in one atomic, durable write. Returns
    /// one result per request, in order, with one claim per event, in order. A request that fails does not affect the
    /// others in the batch. After an error the caller may send the same request again with the same ids: events that
    /// were written are then returned as [`Claim::Seen`] with the caller's own id.
    ///
    /// A delivery with `first_lease` is stored as running, with a token and its first attempt counted.
    ///
    /// An event with `claimed_body` claims its body, too. If another identity in the scope has claimed the same body,
    /// the event is new but held: it is flagged as having the same body as that event, and each of its deliveries is
    /// dead with [`crate::ErrorClass::SameBody`] from the start, without blocking a lane, until [`ReplayMode::Held`]
    /// releases it. Of any number of concurrent `accept`s of one body under several identities, at most one is not
    /// held. The claim lasts until the original expiry of the first event's ledger entry. Bodies that
    /// [`Operations::note_bodies`] remembers count as claimed.
    async fn accept(&self, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>>;

    /// Stores conflicting bodies: bodies that arrived under an identity whose first body was different. Keeps at most
    /// [`CONFLICTS_MAX`] different bodies per identity, in the order of the call; a body that is already kept is
    /// counted. Returns one result per body, in order. A body that fails does not affect the others in the call.
    async fn record_conflicts(
        &self,
        other_bodies: Vec<ConflictingBody>,
    ) -> Vec<Result<ConflictRecorded, Error>>;

    /// Leases due deliveries of one destination, the longest due first, each with a new token and its attempt counted.
    /// In a lane, only the head can be due.
    async fn lease(&self, order: LeaseOrder) -> Result<LeaseBatch, Error>;

    /// Extends leases to `lease_for` from now.
    async fn extend(&self, holds: Vec<Hold>, lease_for: Duration) -> Result<Vec<Written>, Error>;

    /// Records the results of attempts. Completed and dead deliveries leave the table of unfinished deliveries and
    /// become outcomes; the next delivery in their lane becomes due (after a dead one, depending on its
    /// [`crate::OnDead`]). A released delivery is due since its acceptance, ahead of deliveries accepted later.
    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<Written>, Error>;

    /// Reclaims deliveries whose lease has expired: they get a new token, are due now, `lost + 1`, and the attempt is
    /// uncounted. After [`LOST_MAX`] losses they are dead with [`crate::ErrorClass::Lost`].
    async fn rescue(&self, limit: u32) -> Result<Vec<Rescued>, Error>;

    /// Records on one shard that an owner is alive, and reclaims the deliveries that dead owners hold there (see
    /// [`Patience`]), as `rescue` does but without waiting for their leases to expire. An owner that never reported on
    /// the shard is not dead.
    async fn report_alive(&self, report: AliveReport) -> Result<Vec<Rescued>, Error>;

    /// The number of parts of the store that can fail independently. Each keeps its own leases and reports.
    fn shards(&self) -> usize {
        1
    }

    /// The shard that holds the leases of an event.
    fn shard_of(&self, _event: EventId) -> usize {
        0
    }

    /// Makes the retrying deliveries of an event due now, and returns their number. A pause or a lane still holds them
    /// back, and deliveries in other states are not changed.
    async fn hasten(&self, event: EventId) -> Result<u32, Error>;

    /// Requeues finished deliveries in place: due now, with a new token and their attempts at zero. Refuses if any
    /// delivery is unfinished. The earlier outcome stays as history. A job never requeues the same delivery twice, so
    /// it may repeat an order.
    ///
    /// In a lane, a delivery takes the position of its acceptance: it runs before waiting deliveries that were accepted
    /// later, and before a head that is due and pending. A head that is running or retrying keeps its turn. A dead
    /// delivery that holds its lane blocks only the deliveries after it.
    async fn replay(&self, orders: Vec<ReplayOrder>) -> Result<Vec<Replayed>, Error>;

    /// Allows an identity to be accepted again, as its next generation. Refuses while deliveries are unfinished.
    async fn forget(&self, identity: &Identity) -> Result<Forgotten, Error>;

    /// The ledger entry of an identity; `None` if it was forgotten. Accepts may wait for this call, so it is fast and
    /// never waits for a search.
    async fn look_up(&self, identity: &Identity) -> Result<Option<LedgerEntry>, Error>;

    /// One event with its deliveries, attempts, duplicates and conflicts; `None` once its payload has expired.
    async fn get(&self, id: EventId) -> Result<Option<EventRecord>, Error>;

    /// Lists events, in the order of the query. Pages neither skip nor repeat events under concurrent writes.
    async fn list(&self, query: &EventQuery, after: Option<Cursor>, limit: u32) -> Result<EventPage, Error>;

    /// Counts events, ledger entries and deliveries.
    async fn counts(&self) -> Result<Counts, Error>;

    /// Deletes events and ledger entries that are past their retention: at most about `limit` of each, so that it never
    /// stalls an accept. Neither kind waits for the other, and rows that another process is deleting are left to it.
    /// Unfinished deliveries and their events are never deleted; the event of a dead letter, discarded or not, is kept
    /// until its `dead_before`; a ledger entry is deleted only after its event.
    async fn purge(&self, order: PurgeOrder) -> Result<Purged, Error>;

    /// Changes whenever the connection was re-established: state cached before then may be stale.
    fn connection_epoch(&self) -> u64;
}

/// A store that implements all three parts of the contract.
pub trait Backend: Store + Operations + StoreMigration {}
impl<T: Store + Operations + StoreMigration> Backend for T {}

/// The events of one request. Each is claimed separately.
#[derive(Clone, Debug)]
pub struct AcceptRequest {
    /// The events, at least one.
    pub events: Vec<NewEvent>,
}

/// The result of accepting one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The event is the first with its identity and was stored.
    New {
        /// The generation of the identity: 0 unless it was forgotten before.
        generation: Generation,
        /// For each delivery, in order: its lease, if it was stored already leased.
        tokens: Vec<Option<Handed>>,
    },
    /// The identity was already taken, durably. The caller compares the hashes.
    Seen(LedgerEntry),
}

/// A delivery that was stored already leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The lease's token.
    pub token: Token,
    /// When the lease expires unless it is extended.
    pub lease_until: Timestamp,
}

/// What the ledger stores about an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The id of the first event.
    pub id: EventId,
    /// The generation of the identity.
    pub generation: Generation,
    /// When the first event was committed.
    pub first_seen: Timestamp,
    /// When the ledger may forget the identity.
    pub expires_at: Timestamp,
    /// SHA-256 of the first event's raw bytes.
    pub raw_hash: BodyHash,
    /// The first event's content hash, if its preset has a rule.
    pub content_hash: Option<ContentHash>,
}

/// A conflict: a different body under a known identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictingBody {
    /// The ledger key of the identity.
    pub key: Key,
    /// The id of the first event.
    pub first: EventId,
    /// The source that received the body.
    pub source: SourceName,
    /// SHA-256 of the body's raw bytes.
    pub raw_hash: BodyHash,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The headers it arrived with.
    pub headers: Headers,
    /// The conflicting body.
    pub body: bytes::Bytes,
}

impl ConflictingBody {
    /// Checks that `first` can belong to the identity: event ids carry the bucket of their key.
    ///
    /// # Errors
    /// [`Error::Rejected`] if it cannot.
    pub fn check(&self) -> Result<(), Error> {
        if self.first.bucket() == self.key.bucket() {
            return Ok(());
        }
        Err(Error::Rejected {
            message: format!("the id {} was made for another event", self.first),
        })
    }
}

/// The result of recording a conflicting body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictRecorded {
    /// The body was stored.
    Kept,
    /// The same body was stored before; it was counted.
    Again,
    /// [`CONFLICTS_MAX`] other bodies are stored already; this one was not.
    Full,
}

/// A request for due deliveries.
#[derive(Clone, Debug)]
pub struct LeaseOrder {
    /// The process that will run them.
    pub owner: Owner,
    /// The destination whose deliveries to lease.
    pub destination: DestinationId,
    /// The maximum number of deliveries.
    pub limit: u32,
    /// The length of the leases.
    pub lease_for: Duration,
    /// Which deliveries are eligible.
    pub candidates: Candidates,
}

/// Deliveries whose lease was lost are leased separately: one of them may be crashing its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Candidates {
    /// Deliveries whose lease was never lost.
    Fresh,
    /// Deliveries whose lease was lost before.
    Suspect,
}

/// The result of a lease request.
#[derive(Clone, Debug, Default)]
pub struct LeaseBatch {
    /// The leased deliveries.
    pub leased: Vec<Leased>,
    /// When the next eligible delivery is due; in the past if more are due now.
    pub next_due: Option<Timestamp>,
}

/// The outcome of a fenced write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The write was applied.
    Applied,
    /// The lease is no longer held; nothing was written. Abort the attempt if it is still running.
    LeaseLost,
}

/// The result of an attempt, to be recorded.
#[derive(Clone, Debug)]
pub struct Report {
    /// The lease it ran under.
    pub hold: Hold,
    /// The attempt to record; `None` if the delivery was released unattempted.
    pub attempt: Option<Attempt>,
    /// What happens to the delivery.
    pub outcome: AttemptOutcome,
}

/// A delivery that was reclaimed from an expired lease or a dead owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    /// The delivery's event.
    pub event: EventId,
    /// The delivery's destination.
    pub destination: DestinationId,
    /// The number of the attempt that was lost. The next one has the same number: a loss is not an attempt.
    pub attempt: u32,
    /// How often its lease has been lost so far.
    pub lost: u32,
}

/// Which deliveries a replay requeues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayMode {
    /// Only dead and discarded ones.
    Failed,
    /// Completed ones too, under the same key: a destination that deduplicates ignores them.
    All,
    /// All of them, as the next generation and under new keys: the event takes effect again.
    Force,
    /// Only deliveries held because of their body, which no other mode includes: an operator releases them.
    Held,
}

/// One event to replay.
#[derive(Clone, Debug)]
pub struct ReplayOrder {
    /// The event to replay.
    pub event: EventId,
    /// Which of its deliveries to replay.
    pub mode: ReplayMode,
    /// Only this destination; the delivery is created if the event had none there.
    pub to: Option<ReplayTarget>,
    /// The replay job on whose behalf this happens, if any.
    pub job: Option<ReplayJobId>,
}

impl ReplayOrder {
    /// Whether a finished delivery is requeued: its state matches the mode, and this job is not in `replays`, the jobs
    /// that requeued it before.
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

/// The destination of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayTarget {
    /// The destination to deliver to.
    pub destination: DestinationId,
    /// The lane to join, if the destination is ordered.
    pub lane: Option<Lane>,
}

/// The result of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replayed {
    /// Deliveries were requeued.
    Again {
        /// The number of requeued deliveries.
        deliveries: u32,
        /// The generation they are delivered in.
        generation: Generation,
    },
    /// Refused: a delivery is unfinished.
    Unfinished,
    /// No delivery matches the mode.
    Nothing,
    /// The event does not exist, or its payload has expired or was erased.
    NotFound,
}

/// The result of `forget`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// The next event with this identity is new.
    Done {
        /// The generation it will have.
        next: Generation,
    },
    /// Refused: a delivery is unfinished.
    Unfinished,
    /// The identity is not in the ledger.
    NotFound,
}

/// What a purge may delete.
#[derive(Clone, Debug)]
pub struct PurgeOrder {
    /// The retention limits of each source.
    pub windows: Vec<PurgeWindow>,
    /// Deletes ledger entries that expired before this moment.
    pub ledger_before: Timestamp,
    /// The approximate maximum number of rows of each kind.
    pub limit: u32,
}

/// The retention limits of a source.
#[derive(Clone, Debug)]
pub struct PurgeWindow {
    /// The source they apply to.
    pub source: SourceName,
    /// Deletes events received before this moment.
    pub payload_before: Timestamp,
    /// Deletes events with a dead or discarded delivery that died before this moment.
    pub dead_before: Timestamp,
}

/// The number of rows that a purge deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Purged {
    /// Events, with their payloads, attempts and outcomes.
    pub events: u64,
    /// Ledger entries.
    pub ledger: u64,
    /// Whether more rows may be deletable now.
    pub more: bool,
}

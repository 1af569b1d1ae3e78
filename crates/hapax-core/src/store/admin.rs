//! The store's second half: what operators do, and what is gathered beside the hot path.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    BodyHash, DeliveryState, DestinationId, EventId, Identity, Key, NewEvent, Owner, Scope, SourceName,
    Timestamp,
};

use super::{
    AuditHead, AuditLink, ConflictingBody, Cursor, DeadGroup, DeliveryView, DuplicateTally, Erased, Error,
    EventQuery, ReplayMode, Resealed, TimeRange, TrafficRow, Unfinished,
};

/// Pauses, the audit trail, stored jobs, dead letters, and tallies.
#[async_trait]
pub trait Operations: Send + Sync + 'static {
    /// Proves that the store can write durably now, and changes nothing that matters.
    async fn probe(&self) -> Result<(), Error>;

    /// Stops leases for a destination, until resumed. Survives restarts.
    async fn pause(&self, pause: Pause) -> Result<(), Error>;

    /// Undoes `pause`; whether it was paused.
    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error>;

    /// Everything paused.
    async fn pauses(&self) -> Result<Vec<Pause>, Error>;

    /// Keeps a value for a source, instead of what has its name. Survives restarts.
    async fn put_source_state(&self, state: SourceState) -> Result<(), Error>;

    /// Takes the value of a name away and puts another in the same step; whether there was one. Where there
    /// was none, nothing is put: of several that take one value, one succeeds.
    async fn take_source_state(
        &self,
        source: &SourceName,
        name: &str,
        put: Option<SourceState>,
    ) -> Result<bool, Error>;

    /// What a source keeps under a name.
    async fn source_state(&self, source: &SourceName, name: &str) -> Result<Option<SourceState>, Error>;

    /// Everything that is kept for sources, by source and name.
    async fn source_states(&self) -> Result<Vec<SourceState>, Error>;

    /// Records who did what: adds an entry to the chain, whose place it answers. Of any number that are added at once,
    /// each hangs on the one before.
    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error>;

    /// The last entry of the chain. Entries that earlier versions wrote are not in it. Of those that are older than
    /// [`super::AUDIT_KEEP`], purging keeps what [`super::expired_audit`] leaves.
    async fn audit_head(&self) -> Result<AuditHead, Error>;

    /// The audit trail, newest first.
    async fn audit(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<AuditRecord>, Option<Cursor>), Error>;

    /// Deliveries in one finished state, newest first.
    async fn deliveries(
        &self,
        query: &DeadQuery,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<DeliveryView>, Option<Cursor>), Error>;

    /// Dead deliveries by destination and error, largest first, at most `limit` groups.
    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error>;

    /// Turns dead deliveries into discarded ones ([`Disposal::Discard`]), which lets their lane go
    /// on, or back ([`Disposal::Restore`]), which is possible for as long as the dead letter would have
    /// been kept. Returns how many changed.
    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error>;

    /// Erases events, each in one step: headers, body, indexed values, conflicts and what destinations said of it. The
    /// ledger's entry stays, so that a copy is still a duplicate, and so does what was done with the event. Dead
    /// deliveries become discarded ones, and unfinished ones as `unfinished` says: their lanes go on, and whoever runs one
    /// has lost the lease. An erased event is never replayed. One answer for each, in order.
    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error>;

    /// Stores a new bulk replay; it survives restarts.
    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error>;

    /// One bulk replay.
    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error>;

    /// Bulk replays, newest first, over or not.
    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error>;

    /// Bulk replays that are not over, oldest first.
    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error>;

    /// Takes a job that is not over, to drive it, or keeps it for longer: granted unless someone else has
    /// it and has said something within the time given then, by the store's own clock. The job as it is.
    ///
    /// Jobs that share a destination run one after another: a job waits while an older one of them is not
    /// over, and while a newer one is in someone's hands.
    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error>;

    /// Writes progress and keeps the job for longer, unless it was cancelled or someone else has taken it
    /// meanwhile; whether it was written.
    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error>;

    /// Cancels a job that is not over; whether it was running.
    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error>;

    /// Adds gathered copies to the tallies. Lossy by design: a crash forgets what was not flushed.
    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error>;

    /// The copies of an identity, as far as they were flushed, also after its payload has expired.
    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error>;

    /// Declares which fields of which sources are indexed from now on, instead of what was declared before. For each,
    /// since when its source has it indexed without interruption.
    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error>;

    /// Writes rows of traffic, each instead of the one with the same span, slot, subject and owner; rows that are
    /// older than their span shows are deleted.
    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error>;

    /// Every row of a span that is kept, by slot.
    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error>;

    /// Saves a search, replacing the one with its name; whether there is room: at most [`SAVED_SEARCHES_MAX`] are kept.
    async fn put_saved_search(&self, search: SavedSearch) -> Result<bool, Error>;

    /// Deletes a saved search; whether there was one.
    async fn delete_saved_search(&self, name: &str) -> Result<bool, Error>;

    /// Every saved search, by name.
    async fn saved_searches(&self) -> Result<Vec<SavedSearch>, Error>;

    /// What is known of every alert, by name.
    async fn alerts(&self) -> Result<Vec<AlertState>, Error>;

    /// Puts `after` in the place of `before` (none: it is not there), in one durable step; whether it did. It does
    /// not where something else is there, or where there are [`ALERTS_MAX`] already: of several that swap one
    /// value, one succeeds.
    async fn swap_alert(
        &self,
        name: &str,
        before: Option<Vec<u8>>,
        after: Option<Vec<u8>>,
    ) -> Result<bool, Error>;

    /// Remembers bodies whose id is not signed and flags an event whose body came before under
    /// another id.
    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error>;

    /// Binds a name to a body for a while, unless it is bound; whether it is bound to this body now. Durable when it
    /// answers: of several that bind one name to different bodies, one succeeds.
    async fn bind(&self, binding: Binding) -> Result<bool, Error>;

    /// Those of these bodies that are remembered, by scope and hash, in any order.
    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error>;

    /// A quarantined body, to look at or to release.
    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error>;

    /// Marks a quarantined body as released as `event`.
    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error>;

    /// Gives rows another stored form, each by itself, and only where it is still as it was: what has changed since, or
    /// is gone, stays so. What the rows were is overwritten where the store can do that.
    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error>;
}

/// A destination that gets nothing until it is resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Which.
    pub destination: DestinationId,
    /// Since when.
    pub at: Timestamp,
    /// Who said so.
    pub by: String,
    /// Why.
    pub why: String,
}

/// A small value that a source keeps besides its events, such as a secret that its sender handed over. What must
/// stay secret is encrypted before it gets here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceState {
    /// Whose.
    pub source: SourceName,
    /// Which.
    pub name: String,
    /// The value.
    pub value: Vec<u8>,
}

/// Most saved searches that are kept.
pub const SAVED_SEARCHES_MAX: usize = 200;

/// A query with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSearch {
    /// Its name.
    pub name: String,
    /// The query as it was typed: `since:2h` stays that.
    pub query: String,
    /// Who saved it.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Most alerts that are kept.
pub const ALERTS_MAX: usize = 500;

/// What is known of one alert: who keeps it knows what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertState {
    /// Which.
    pub name: String,
    /// The value.
    pub value: Vec<u8>,
}

/// A field of a source that is indexed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IndexedField {
    /// Whose.
    pub source: SourceName,
    /// Its JSON pointer.
    pub pointer: String,
}

/// Who acts: a name that someone vouches for, such as a token's in the configuration, and what they say of themselves,
/// which proves nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actor {
    /// What the audit trail calls them.
    pub name: String,
    /// Their own words; may be empty.
    pub note: String,
}

impl Actor {
    /// What they did. Their note stands at the end of the detail, marked as one.
    pub fn entry(&self, action: &str, subject: impl Into<String>, detail: impl Into<String>) -> AuditEntry {
        let detail = detail.into();
        let detail = match (detail.is_empty(), self.note.is_empty()) {
            (_, true) => detail,
            (true, false) => format!("note: {}", self.note),
            (false, false) => format!("{detail}; note: {}", self.note),
        };
        AuditEntry {
            who: self.name.clone(),
            action: action.to_owned(),
            subject: subject.into(),
            detail,
        }
    }
}

impl From<&str> for Actor {
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            note: String::new(),
        }
    }
}

impl From<&Self> for Actor {
    fn from(actor: &Self) -> Self {
        actor.clone()
    }
}

/// Something an operator did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Who.
    pub who: String,
    /// What, such as `replay`.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Anything else worth knowing.
    pub detail: String,
}

/// An entry of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// When (the store's clock).
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// How it hangs in the chain; none where an earlier version wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<AuditLink>,
}

/// Which finished deliveries to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadQuery {
    /// In this state: dead or discarded.
    pub state: DeliveryState,
    /// To this destination.
    pub destination: Option<DestinationId>,
}

/// What an operator decides about dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposal {
    /// They do not matter.
    Discard,
    /// They do.
    Restore,
}

/// The id of a bulk replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplayJobId(pub EventId);

impl std::fmt::Display for ReplayJobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Who drives a bulk replay, so that its rate holds over all replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Its process.
    pub owner: Owner,
    /// After this long without a word, another may take over.
    pub lease_for: Duration,
}

/// Who has a bulk replay, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobHold {
    /// The process.
    pub owner: Owner,
    /// The end of its time.
    pub until: Timestamp,
}

impl Driver {
    /// Whether it may take one of the jobs that are not over, each with who has or had it. Jobs that share a
    /// destination run one after another, oldest first; one that is in progress is not interrupted.
    pub fn may_take(
        self,
        id: ReplayJobId,
        unfinished: &[(ReplayJob, Option<JobHold>)],
        now: Timestamp,
    ) -> bool {
        let holder = |held: &Option<JobHold>| held.filter(|held| held.until > now).map(|held| held.owner);
        let Some((job, held)) = unfinished.iter().find(|(job, _)| job.id == id) else {
            return false;
        };
        match holder(held) {
            Some(owner) => owner == self.owner,
            None => unfinished
                .iter()
                .filter(|(other, _)| other.id != id && other.shares_destination(job))
                .all(|(other, held)| other.id > id && holder(held).is_none()),
        }
    }

    /// Whether what it writes counts: also after its time, unless someone else has taken the job.
    pub fn may_write(self, held: Option<JobHold>) -> bool {
        held.is_none_or(|held| held.owner == self.owner)
    }

    /// The job in its hands.
    pub fn hold(self, now: Timestamp) -> JobHold {
        JobHold {
            owner: self.owner,
            until: now.plus(self.lease_for),
        }
    }
}

/// A bulk replay: stored, so that it goes on after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayJob {
    /// Its id.
    pub id: ReplayJobId,
    /// Which events.
    pub query: EventQuery,
    /// Which of their deliveries.
    pub mode: ReplayMode,
    /// Only this destination.
    pub to: Option<DestinationId>,
    /// At most this many events a second.
    pub rate_per_second: u32,
    /// Only events accepted before: those that come while it runs are not its business.
    pub as_of: Timestamp,
    /// How far it has come, from the oldest event on. Under a name of its own: releases that walked the
    /// other way kept theirs as `cursor`, and each must start over with the other's job.
    #[serde(rename = "walked_to", default)]
    pub cursor: Option<u64>,
    /// Its state.
    pub state: ReplayJobState,
    /// Who asked.
    pub who: String,
    /// Why.
    pub why: String,
    /// What it did so far.
    pub tally: ReplayTally,
}

impl ReplayJob {
    /// Whether both may put back deliveries to one destination.
    fn shares_destination(&self, other: &Self) -> bool {
        match (&self.to, &other.to) {
            (Some(one), Some(other)) => one == other,
            (None, _) | (_, None) => true,
        }
    }
}

/// The state of a bulk replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayJobState {
    /// Going on.
    Running,
    /// At its end.
    Done,
    /// Stopped by someone.
    Cancelled,
}

/// What a bulk replay did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayTally {
    /// Events looked at.
    pub matched: u64,
    /// Deliveries put back.
    pub replayed: u64,
    /// Events refused because work was unfinished.
    pub unfinished: u64,
    /// Events where nothing fitted the mode, or that were gone.
    pub skipped: u64,
    /// Bodies read because the query asks for values in them: a walk ends after this many.
    #[serde(default)]
    pub bodies_read: u64,
}

/// Copies of one event, gathered in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateNote {
    /// The identity's key.
    pub key: Key,
    /// How many more.
    pub count: u64,
    /// When the last came.
    pub last_at: Timestamp,
    /// Milliseconds from the first to each, newest last; at most [`super::GAPS_MAX`].
    pub gaps_ms: Vec<u64>,
}

/// A body whose sender does not sign the id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyNote {
    /// Where ids are unique.
    pub scope: Scope,
    /// SHA-256 of the raw bytes.
    pub raw_hash: BodyHash,
    /// The event that carried it.
    pub id: EventId,
    /// When the note may be forgotten.
    pub until: Timestamp,
}

impl BodyNote {
    /// What ends the scope of notes that are names bound to bodies. No source can have such a scope.
    pub const BINDINGS: &str = " bindings";
    /// What ends the scope of notes whose hashes are keyed digests.
    pub const SEALED: &str = " sealed";

    /// What is remembered of an event's body.
    pub fn of(event: &NewEvent) -> Self {
        Self {
            scope: event.identity.scope.clone(),
            raw_hash: event.raw_hash,
            id: event.id,
            until: event.ledger_until,
        }
    }
}

/// A name that a sender signs and the body that came with it first, where the sender does not sign the body itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where the name is unique.
    pub scope: Scope,
    /// The name.
    pub name: String,
    /// SHA-256 of the body's raw bytes.
    pub raw_hash: BodyHash,
    /// When the binding may be forgotten.
    pub until: Timestamp,
}

impl Binding {
    /// The binding as stores keep it, among the bodies that are remembered: in a scope that no source can have, the hash
    /// of the name in the place of a body's, and half the hash of the body in the place of an event's id.
    pub fn note(&self) -> BodyNote {
        let mut half = [0; 16];
        half.copy_from_slice(&self.raw_hash.as_bytes()[..16]);
        BodyNote {
            scope: Scope::from(format!("{}{}", self.scope, BodyNote::BINDINGS)),
            raw_hash: BodyHash::of(self.name.as_bytes()),
            id: EventId::from_bytes(half),
            until: self.until,
        }
    }
}

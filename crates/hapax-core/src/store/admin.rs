//! The second part of the store's contract: operator actions, and data collected off the hot path.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{
    BodyHash, DeliveryState, DestinationId, EventId, Identity, Key, Owner, Scope, SourceName, Timestamp,
};

use super::{
    AuditEntry, AuditHead, AuditLink, AuditRecord, Binding, BodyNote, ConflictingBody, Cursor, DeadGroup,
    DeliveryView, DuplicateTally, Erased, Error, EventQuery, NamedValue, ReplayJobId, ReplayMode, Resealed,
    Swapped, TimeRange, TrafficRow, Unfinished, ValueSpace, ValueSwap,
};

/// Pauses, the audit trail, replay jobs, dead letters, small named values and statistics.
#[async_trait]
pub trait Operations: Send + Sync + 'static {
    /// Proves that the store can write durably now, without changing any data.
    async fn probe(&self) -> Result<(), Error>;

    /// Stops leasing deliveries to a destination until it is resumed. A pause survives restarts.
    async fn pause(&self, pause: Pause) -> Result<(), Error>;

    /// Undoes `pause`; returns whether the destination was paused.
    async fn resume(&self, destination: &DestinationId) -> Result<bool, Error>;

    /// All paused destinations.
    async fn pauses(&self) -> Result<Vec<Pause>, Error>;

    /// Replaces a value with another if what is stored is as expected, in one durable step. Otherwise, or if there is no
    /// room for another name, nothing changes: of several callers that expect one value, exactly one succeeds.
    async fn swap_value(&self, swap: ValueSwap) -> Result<Swapped, Error>;

    /// The value with a name.
    async fn value(&self, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Error>;

    /// All values of a space, ordered by name.
    async fn values(&self, space: &ValueSpace) -> Result<Vec<NamedValue>, Error>;

    /// The sources that have values, in order.
    async fn sources_with_values(&self) -> Result<Vec<SourceName>, Error>;

    /// Appends an entry to the audit chain and returns its link. Of any number of entries appended concurrently, each
    /// links to the one before it.
    async fn record(&self, entry: AuditEntry) -> Result<AuditLink, Error>;

    /// The last entry of the chain. Entries written by earlier versions are not part of it. Of the entries older than
    /// [`super::AUDIT_KEEP`], purging keeps those that [`super::expired_audit`] does not return.
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

    /// Dead deliveries grouped by destination and error, largest group first, at most `limit` groups.
    async fn dead_groups(&self, limit: u32) -> Result<Vec<DeadGroup>, Error>;

    /// Discards dead deliveries ([`Disposal::Discard`]), which unblocks their lane, or restores discarded ones
    /// ([`Disposal::Restore`]), which is possible for as long as the dead letter would have been kept. Returns how many
    /// changed.
    async fn dispose(
        &self,
        deliveries: Vec<(EventId, DestinationId)>,
        disposal: Disposal,
    ) -> Result<u64, Error>;

    /// Erases events, each in one step: headers, body, indexed values, conflicts and responses of destinations. The
    /// ledger entry stays, so that a redelivery is still a duplicate, and so does the record of the event's deliveries.
    /// Dead deliveries are discarded, and unfinished ones treated as `unfinished` says: their lanes continue, and a
    /// process that is running one has lost its lease. An erased event is never replayed. Returns one result per event,
    /// in order.
    async fn erase(&self, events: Vec<EventId>, unfinished: Unfinished) -> Result<Vec<Erased>, Error>;

    /// Stores a new replay job; it survives restarts.
    async fn create_replay(&self, job: ReplayJob) -> Result<(), Error>;

    /// The replay job with this id.
    async fn replay_job(&self, id: ReplayJobId) -> Result<Option<ReplayJob>, Error>;

    /// Replay jobs in any state, newest first.
    async fn replay_jobs(
        &self,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<(Vec<ReplayJob>, Option<Cursor>), Error>;

    /// Running replay jobs, oldest first.
    async fn unfinished_replays(&self) -> Result<Vec<ReplayJob>, Error>;

    /// Claims a running job in order to drive it, or extends the claim. It is granted unless another process holds the
    /// job and has reported within the time that it was granted, by the store's own clock. Returns the current job.
    ///
    /// Jobs that share a destination run one after another: a job waits while an older one is running, and while a
    /// process holds a newer one.
    async fn claim_replay(&self, id: ReplayJobId, driver: Driver) -> Result<Option<ReplayJob>, Error>;

    /// Writes a job's progress and extends the claim, unless the job was cancelled or another process has claimed it;
    /// returns whether it was written.
    async fn advance_replay(&self, job: &ReplayJob, driver: Driver) -> Result<bool, Error>;

    /// Cancels a running job; returns whether it was running.
    async fn cancel_replay(&self, id: ReplayJobId) -> Result<bool, Error>;

    /// Adds collected duplicates to the tallies. Lossy by design: a crash loses notes that were not flushed.
    async fn note_duplicates(&self, notes: Vec<DuplicateNote>) -> Result<(), Error>;

    /// The flushed duplicates of an identity, available even after its payload has expired.
    async fn duplicates(&self, identity: &Identity) -> Result<Option<DuplicateTally>, Error>;

    /// Declares which fields of which sources are indexed from now on, replacing the previous declaration. Returns for
    /// each field since when its source has indexed it without interruption.
    async fn declare_indexes(
        &self,
        fields: Vec<IndexedField>,
    ) -> Result<Vec<(IndexedField, Timestamp)>, Error>;

    /// Writes rows of traffic, each replacing the one with the same range, slot, subject and owner. Rows that are older
    /// than their range shows are deleted.
    async fn put_traffic(&self, rows: Vec<TrafficRow>) -> Result<(), Error>;

    /// All stored rows of a range, ordered by slot.
    async fn traffic(&self, span: TimeRange) -> Result<Vec<TrafficRow>, Error>;

    /// Remembers bodies whose id is not signed, and flags an event whose body arrived earlier under another id.
    async fn note_bodies(&self, notes: Vec<BodyNote>) -> Result<(), Error>;

    /// Binds a name to a body for a while, unless it is bound already; returns whether it is now bound to this body.
    /// Durable on return: of several callers that bind one name to different bodies, exactly one succeeds.
    async fn bind(&self, binding: Binding) -> Result<bool, Error>;

    /// The remembered ones of these bodies, given by scope and hash, in any order.
    async fn remembered(&self, bodies: Vec<(Scope, BodyHash)>) -> Result<Vec<BodyNote>, Error>;

    /// A conflicting body, to be inspected or released.
    async fn conflict(&self, first: EventId, raw_hash: BodyHash) -> Result<Option<ConflictingBody>, Error>;

    /// Marks a conflicting body as released as `event`.
    async fn mark_released(&self, first: EventId, raw_hash: BodyHash, event: EventId) -> Result<(), Error>;

    /// Rewrites rows in another stored form, each independently and only if it is unchanged: rows that have been
    /// modified or deleted since are left alone. The old contents are overwritten if the store supports that.
    async fn reseal(&self, rows: Vec<Resealed>) -> Result<(), Error>;
}

/// A paused destination: it receives nothing until it is resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// The paused destination.
    pub destination: DestinationId,
    /// When it was paused.
    pub at: Timestamp,
    /// Who paused it.
    pub by: String,
    /// The reason given.
    pub why: String,
}

/// An indexed field of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IndexedField {
    /// The source whose events are indexed.
    pub source: SourceName,
    /// The JSON pointer of the field.
    pub pointer: String,
}

/// Which finished deliveries to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadQuery {
    /// The state to list: dead or discarded.
    pub state: DeliveryState,
    /// Only deliveries to this destination.
    pub destination: Option<DestinationId>,
}

/// An operator's decision about dead letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposal {
    /// Discard them.
    Discard,
    /// Turn discarded ones back into dead letters.
    Restore,
}

/// The process that drives a replay job. There is only one, so that the job's rate holds across all replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// The driving process.
    pub owner: Owner,
    /// How long it may stay silent before another process may take over.
    pub lease_for: Duration,
}

/// The claim of a process on a replay job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobHold {
    /// The process that holds the job.
    pub owner: Owner,
    /// When the claim expires.
    pub until: Timestamp,
}

impl Driver {
    /// Whether this driver may claim one of the running jobs, each given with its current or last holder. Jobs that
    /// share a destination run one after another, oldest first; a job in progress is not interrupted.
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

    /// Whether this driver's writes count: even after its claim expired, unless another process has claimed the job.
    pub fn may_write(self, held: Option<JobHold>) -> bool {
        held.is_none_or(|held| held.owner == self.owner)
    }

    /// This driver's claim on a job.
    pub fn hold(self, now: Timestamp) -> JobHold {
        JobHold {
            owner: self.owner,
            until: now.plus(self.lease_for),
        }
    }
}

/// A replay job, stored so that it resumes after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayJob {
    /// The id of the job.
    pub id: ReplayJobId,
    /// The events to replay.
    #[serde(with = "super::query::stored")]
    pub query: EventQuery,
    /// Which of their deliveries to replay.
    pub mode: ReplayMode,
    /// Only deliveries to this destination.
    pub to: Option<DestinationId>,
    /// The maximum number of events per second.
    pub rate_per_second: u32,
    /// Only events accepted before this moment; the job ignores events that arrive while it runs.
    pub as_of: Timestamp,
    /// How far the job has progressed, starting from the oldest event. It is stored under a separate name: releases
    /// that walked in the other direction stored theirs as `cursor`, and neither may continue from the other's
    /// position.
    #[serde(rename = "walked_to", default)]
    pub cursor: Option<u64>,
    /// The state of the job.
    pub state: ReplayJobState,
    /// Who created it.
    pub who: String,
    /// The reason given.
    pub why: String,
    /// Its results so far.
    pub tally: ReplayTally,
}

impl ReplayJob {
    /// Whether both jobs may requeue deliveries to the same destination.
    fn shares_destination(&self, other: &Self) -> bool {
        match (&self.to, &other.to) {
            (Some(one), Some(other)) => one == other,
            (None, _) | (_, None) => true,
        }
    }
}

/// The state of a replay job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplayJobState {
    /// In progress.
    Running,
    /// Finished.
    Done,
    /// Cancelled by an operator.
    Cancelled,
}

/// The results of a replay job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayTally {
    /// Events examined.
    pub matched: u64,
    /// Deliveries requeued.
    pub replayed: u64,
    /// Events refused because a delivery was unfinished.
    pub unfinished: u64,
    /// Events without a delivery that matches the mode, or that no longer exist.
    pub skipped: u64,
    /// Bodies read to evaluate the query's body terms: a walk stops after a limited number.
    #[serde(default)]
    pub bodies_read: u64,
}

/// Duplicates of one event, collected in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateNote {
    /// The ledger key of the identity.
    pub key: Key,
    /// The number of further duplicates.
    pub count: u64,
    /// When the last one arrived.
    pub last_at: Timestamp,
    /// Milliseconds from the first event to each duplicate, newest last; at most [`super::GAPS_MAX`].
    pub gaps_ms: Vec<u64>,
}

//! The records of a migration: identities with everything that belongs to them, and the smaller tables.

use crate::{
    BodyHash, DeliveryState, DestinationId, ErrorClass, EventId, Generation, IdempotencyKey, Key, Lane,
    Scope, StoredEvent, Timestamp, Token,
};

use super::super::{
    AttemptView, AuditRecord, BodyNote, ConflictingBody, DuplicateTally, IndexedValue, LedgerEntry, Pause,
    ReplayJob, ReplayJobId,
};

/// One record, which is imported completely or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An identity with its events and their deliveries.
    Identity(Box<IdentityRecord>),
    /// A remembered body of a provider that does not sign the event id.
    Body(BodyNote),
    /// A paused destination.
    Pause(Pause),
    /// A replay job.
    Job(Box<JobRecord>),
    /// An entry of the audit trail.
    Audit(AuditNumbered),
}

impl Record {
    /// A description of the record for messages.
    pub fn name(&self) -> String {
        match self {
            Self::Identity(identity) => match identity.events.first() {
                Some(contents) => {
                    let known = &contents.event.identity;
                    format!("event {} of {}", known.event_id, known.scope)
                }
                None => format!("ledger entry {:?} of {}", identity.key, identity.scope),
            },
            Self::Body(note) => format!("body {} of {}", note.raw_hash, note.scope),
            Self::Pause(pause) => format!("pause of {}", pause.destination),
            Self::Job(record) => format!("bulk replay {}", record.job.id),
            Self::Audit(entry) => format!("audit entry {}", entry.number),
        }
    }

    /// The position of the record in every export: ordered by kind, and within a kind by name.
    pub fn place(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Identity(identity) => (0, identity.key.as_bytes().to_vec()),
            Self::Body(note) => {
                let mut name = note.scope.as_str().as_bytes().to_vec();
                name.push(0);
                name.extend(note.raw_hash.as_bytes());
                (1, name)
            }
            Self::Pause(pause) => (2, pause.destination.as_str().as_bytes().to_vec()),
            Self::Job(record) => (3, record.job.id.0.as_bytes().to_vec()),
            Self::Audit(entry) => (4, entry.number.to_be_bytes().to_vec()),
        }
    }

    /// The number of payload bytes.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Identity(identity) => identity.payload_bytes(),
            Self::Body(_) | Self::Pause(_) | Self::Job(_) | Self::Audit(_) => 0,
        }
    }
}

/// An identity: its ledger entry, its events, its duplicates and its conflicting bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityRecord {
    /// The ledger key.
    pub key: Key,
    /// The scope in which the id is unique.
    pub scope: Scope,
    /// The ledger entry. If the identity was forgotten: the entry of its last event, with the generation that the next
    /// event gets.
    pub entry: LedgerEntry,
    /// Whether it was forgotten, so that the next event is new.
    pub is_forgotten: bool,
    /// Its stored events, by id: that of the entry, and those from before it was forgotten.
    pub events: Vec<EventContents>,
    /// Its duplicates.
    pub duplicates: Option<DuplicateTally>,
    /// Its conflicting bodies, in order of arrival.
    pub conflicts: Vec<ConflictRecord>,
}

impl IdentityRecord {
    fn payload_bytes(&self) -> usize {
        let events = self.events.iter().map(|contents| &contents.event);
        let own: usize = events
            .map(|event| event.body.len() + event.headers.as_bytes().len())
            .sum();
        let others = self.conflicts.iter().map(|conflict| &conflict.other_body);
        own + others
            .map(|other_body| other_body.body.len() + other_body.headers.as_bytes().len())
            .sum::<usize>()
    }
}

/// An event with its deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventContents {
    /// The event.
    pub event: StoredEvent,
    /// The position of the event by acceptance in the exporting store. A store that orders events by their ids ignores
    /// it, and exports [`EventId::order_in_micros`].
    pub order: u64,
    /// The generation of its latest deliveries.
    pub generation: Generation,
    /// When it was committed.
    pub accepted_at: Timestamp,
    /// An earlier event with the same body under another id.
    pub same_body_as: Option<EventId>,
    /// The values of its indexed fields, by pointer.
    pub indexed: Vec<IndexedValue>,
    /// Unfinished deliveries, by destination.
    pub work: Vec<WorkRecord>,
    /// Finished deliveries, including history, by destination and token.
    pub outcomes: Vec<OutcomeRecord>,
    /// Attempts, oldest first.
    pub attempts: Vec<AttemptView>,
}

/// An unfinished delivery, not running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkRecord {
    /// The destination to deliver to.
    pub destination: DestinationId,
    /// The generation of the event's identity.
    pub generation: Generation,
    /// The idempotency key that every attempt carries.
    pub idempotency_key: IdempotencyKey,
    /// The number of counted attempts.
    pub attempts: u32,
    /// The number of lost leases.
    pub lost: u32,
    /// When it is due; `None` while it waits in its lane.
    pub due_at: Option<Timestamp>,
    /// The token of its last lease; the next one is greater.
    pub token: Token,
    /// Its position in a lane, if the destination is ordered.
    pub lane: Option<InLane>,
    /// The replay job that requeued it.
    pub replay: Option<ReplayJobId>,
}

/// A position in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InLane {
    /// The lane.
    pub lane: Lane,
    /// The position; the lowest is the head.
    pub place: u64,
}

/// A finished delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeRecord {
    /// The destination it was delivered to.
    pub destination: DestinationId,
    /// The token of the lease it finished under.
    pub token: Token,
    /// The state it finished in.
    pub state: DeliveryState,
    /// Whether it is the current outcome; otherwise a replay has made it history.
    pub is_last: bool,
    /// Whether it is a dead head that blocks its lane.
    pub holds_lane: bool,
    /// The number of counted attempts.
    pub attempts: u32,
    /// The number of lost leases.
    pub lost: u32,
    /// When it finished.
    pub finished_at: Timestamp,
    /// Its position in the order in which deliveries finished.
    pub finished_order: u64,
    /// The generation of the event's identity.
    pub generation: Generation,
    /// The idempotency key that every attempt carried.
    pub idempotency_key: IdempotencyKey,
    /// Why it is dead.
    pub error: Option<ErrorClass>,
    /// Its position in a lane, if the destination is ordered.
    pub lane: Option<InLane>,
    /// The replay job that had requeued it.
    pub replay: Option<ReplayJobId>,
}

/// A conflicting body under an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictRecord {
    /// The conflicting body.
    pub other_body: ConflictingBody,
    /// How often it arrived.
    pub seen: u64,
    /// The event as which an operator released it, if any.
    pub released_as: Option<EventId>,
}

impl ConflictRecord {
    /// SHA-256 of the body.
    pub const fn raw_hash(&self) -> BodyHash {
        self.other_body.raw_hash
    }
}

/// A replay job. A running one starts its walk again, but never requeues the same delivery twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The replay job.
    pub job: ReplayJob,
    /// When it last changed.
    pub changed_at: Timestamp,
}

/// An entry of the audit trail with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditNumbered {
    /// The position of the entry in the trail.
    pub number: u64,
    /// The audit entry.
    pub record: AuditRecord,
}

//! What goes from store to store: an identity with everything about it, and the small things beside.

use crate::{
    BodyHash, DeliveryState, DestinationId, ErrorClass, EventId, Generation, IdempotencyKey, Key, Lane,
    Scope, StoredEvent, Timestamp, Token,
};

use super::super::{
    AttemptView, AuditRecord, BodyNote, ConflictingBody, DuplicateTally, IndexedValue, LedgerEntry, Pause,
    ReplayJob, ReplayJobId,
};

/// One thing to take over, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An identity with its events and their work.
    Identity(Box<IdentityRecord>),
    /// A body whose sender does not sign the id.
    Body(BodyNote),
    /// A paused destination.
    Pause(Pause),
    /// A bulk replay.
    Job(Box<JobRecord>),
    /// An entry of the audit trail.
    Audit(AuditNumbered),
}

impl Record {
    /// What to call it in a message.
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

    /// Where it stands in every export: by kind, and within a kind by name.
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

    /// Bytes of payload.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Identity(identity) => identity.payload_bytes(),
            Self::Body(_) | Self::Pause(_) | Self::Job(_) | Self::Audit(_) => 0,
        }
    }
}

/// An identity: its ledger entry, the events that had it, its copies and its other bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityRecord {
    /// The ledger's key.
    pub key: Key,
    /// Its scope.
    pub scope: Scope,
    /// Its entry. While forgotten: of the last event, with the generation that the next one gets.
    pub entry: LedgerEntry,
    /// Whether it was forgotten, so that the next one is new.
    pub is_forgotten: bool,
    /// Its events that are stored, by id: the entry's own, and those from before it was forgotten.
    pub events: Vec<EventContents>,
    /// Its copies.
    pub duplicates: Option<DuplicateTally>,
    /// Other bodies under it, in the order of their arrival.
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
    /// Orders events by acceptance in the store that it comes from. One that orders them by their ids ignores it, and
    /// hands over [`EventId::order_in_micros`].
    pub order: u64,
    /// The generation that its deliveries were given last.
    pub generation: Generation,
    /// When it was committed.
    pub accepted_at: Timestamp,
    /// An earlier event with the same body under another id.
    pub same_body_as: Option<EventId>,
    /// Its values of indexed fields, by pointer.
    pub indexed: Vec<IndexedValue>,
    /// Unfinished deliveries, by destination.
    pub work: Vec<WorkRecord>,
    /// Finished ones, history included, by destination and token.
    pub outcomes: Vec<OutcomeRecord>,
    /// Attempts, oldest first.
    pub attempts: Vec<AttemptView>,
}

/// An unfinished delivery. None runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkRecord {
    /// Where to.
    pub destination: DestinationId,
    /// Which generation.
    pub generation: Generation,
    /// What every attempt carries.
    pub idempotency_key: IdempotencyKey,
    /// Attempts counted.
    pub attempts: u32,
    /// Leases lost.
    pub lost: u32,
    /// When it is due; none while it waits in its lane.
    pub due_at: Option<Timestamp>,
    /// Of its last lease: the next one's is greater.
    pub token: Token,
    /// Its place, where the destination keeps order.
    pub lane: Option<InLane>,
    /// The replay that put it back.
    pub replay: Option<ReplayJobId>,
}

/// A place in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InLane {
    /// The lane.
    pub lane: Lane,
    /// Its place: the least is the head.
    pub place: u64,
}

/// A finished delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeRecord {
    /// Where to.
    pub destination: DestinationId,
    /// The lease it ended under.
    pub token: Token,
    /// How it ended.
    pub state: DeliveryState,
    /// Whether it is the last one; otherwise a replay made it history.
    pub is_last: bool,
    /// Whether it is a dead head that keeps its lane waiting.
    pub holds_lane: bool,
    /// Attempts counted.
    pub attempts: u32,
    /// Leases lost.
    pub lost: u32,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Orders endings.
    pub finished_order: u64,
    /// Which generation.
    pub generation: Generation,
    /// What every attempt carried.
    pub idempotency_key: IdempotencyKey,
    /// Why it is dead.
    pub error: Option<ErrorClass>,
    /// Its place, where the destination keeps order.
    pub lane: Option<InLane>,
    /// The replay that had put it back.
    pub replay: Option<ReplayJobId>,
}

/// Another body under an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictRecord {
    /// The body.
    pub other_body: ConflictingBody,
    /// How often it came.
    pub seen: u64,
    /// Whether an operator released it as an event of its own.
    pub released_as: Option<EventId>,
}

impl ConflictRecord {
    /// SHA-256 of the body.
    pub const fn raw_hash(&self) -> BodyHash {
        self.other_body.raw_hash
    }
}

/// A bulk replay. One that is not over begins its walk again: what it put back, it does not put back twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The job.
    pub job: ReplayJob,
    /// When it changed last.
    pub changed_at: Timestamp,
}

/// An entry of the audit trail with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditNumbered {
    /// Orders entries.
    pub number: u64,
    /// The entry.
    pub record: AuditRecord,
}

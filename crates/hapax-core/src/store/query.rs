//! What stores answer when someone looks: events, deliveries, attempts, counts.

use serde::{Deserialize, Serialize};

use crate::{
    Attempt, BodyHash, DeliveryState, DestinationId, ErrorClass, EventId, EventStatus, Generation,
    IdempotencyKey, Scope, SourceName, StoredEvent, Timestamp, Token,
};

use super::{BodyTerm, IndexedValue, ReplayJobId, StoredBodies};

/// Which events to list. Everything given must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventQuery {
    /// Of this source.
    pub source: Option<SourceName>,
    /// With this status.
    pub status: Option<EventStatus>,
    /// Of this type; a trailing `*` matches any rest.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// With this sender's id, or with this id of ours.
    pub event_id: Option<String>,
    /// With a delivery to this destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<DestinationId>,
    /// With a dead delivery that was given up for this; together with `to`: the delivery to that destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorClass>,
    /// With this many copies, as far as they were flushed.
    #[serde(rename = "copies", skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicateCount>,
    /// With something besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<Has>,
    /// With all of these values in the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<BodyTerm>,
    /// Which of `body` is looked up in the index of its source, instead of in one body after the other. Found are then
    /// only events that were accepted with that field indexed.
    #[serde(skip)]
    pub by_index: Option<usize>,
    /// How stored bodies and indexes are read.
    #[serde(skip)]
    pub stored: StoredBodies,
    /// Received at or after.
    pub since: Option<Timestamp>,
    /// Received before.
    pub until: Option<Timestamp>,
    /// Which of them come first.
    #[serde(skip)]
    pub order: ListOrder,
}

/// In which order events are listed. Both are the order of acceptance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// As someone looks at them.
    #[default]
    NewestFirst,
    /// As they are put back to work.
    OldestFirst,
}

/// How many copies, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateCount {
    /// At least.
    pub min: u64,
    /// At most.
    pub max: Option<u64>,
}

impl DuplicateCount {
    /// Whether a number of copies fits.
    pub fn fits(self, copies: u64) -> bool {
        copies >= self.min && self.max.is_none_or(|max| copies <= max)
    }
}

/// What an event may have besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Has {
    /// Another body under the same id.
    Conflict,
}

impl EventQuery {
    /// Whether the body of an event, as it is stored, fits every term.
    pub fn fits_body(&self, event: EventId, stored: &[u8]) -> bool {
        let fits = |body: &[u8]| self.body.iter().all(|term| term.fits(body));
        self.body.is_empty() || self.stored.body(event, stored).is_some_and(|body| fits(&body))
    }

    /// What to look up in the index, where one is used.
    pub fn indexed_value(&self) -> Option<IndexedValue> {
        let term = self.body.get(self.by_index?)?;
        Some(self.stored.indexed(term))
    }

    /// Whether a type fits the query's pattern.
    pub fn fits_type(&self, event_type: Option<&str>) -> bool {
        let Some(pattern) = &self.event_type else {
            return true;
        };
        let Some(event_type) = event_type else {
            return false;
        };
        match pattern.strip_suffix('*') {
            Some(prefix) => event_type.starts_with(prefix),
            None => event_type == pattern,
        }
    }
}

/// Where a page ended. Opaque to clients, and of no use for a list in the other order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub u64);

/// One page of events.
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    /// The events, in the order of the query.
    pub events: Vec<EventSummary>,
    /// Where to go on; none at the end. A page may hold fewer than asked for and still go on.
    pub next: Option<Cursor>,
    /// Bodies that were read because the query asks for values in them and no index was used. A page reads a bounded
    /// number of them.
    pub bodies_read: u64,
}

/// An event in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSummary {
    /// Our id.
    pub id: EventId,
    /// The source.
    pub source: SourceName,
    /// The sender's id.
    pub event_id: String,
    /// The sender's type.
    pub event_type: Option<String>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// What has become of it.
    pub status: EventStatus,
    /// Size of its body.
    pub body_bytes: u64,
    /// Copies that arrived after the first, as far as they were flushed.
    pub duplicates: u64,
}

/// One event with all that is known of it.
#[derive(Clone, Debug)]
pub struct EventRecord {
    /// The event.
    pub event: StoredEvent,
    /// What has become of it.
    pub status: EventStatus,
    /// One for each destination: unfinished work or the last outcome.
    pub deliveries: Vec<DeliveryView>,
    /// Every attempt kept, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Copies that arrived after the first, as far as they were flushed.
    pub duplicates: Option<DuplicateTally>,
    /// Other bodies under the same identity.
    pub conflicts: Vec<ConflictView>,
    /// An earlier event with the same body under another id, where ids are not signed.
    pub same_body_as: Option<EventId>,
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryView {
    /// The event.
    pub event: EventId,
    /// Where to.
    pub destination: DestinationId,
    /// Its state.
    pub state: DeliveryState,
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
    /// When it finished.
    pub finished_at: Option<Timestamp>,
    /// Why it is dead.
    pub error: Option<ErrorClass>,
    /// Its lane.
    pub lane: Option<String>,
    /// The replay that put it back.
    pub replay: Option<ReplayJobId>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptView {
    /// Where to.
    pub destination: DestinationId,
    /// Which generation.
    pub generation: Generation,
    /// The lease it ran under.
    pub token: Token,
    /// What happened.
    pub attempt: Attempt,
}

/// Copies of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DuplicateTally {
    /// How many arrived after the first.
    #[serde(rename = "copies")]
    pub count: u64,
    /// When the last did.
    pub last_at: Timestamp,
    /// Milliseconds between the first and each of the last copies, newest last.
    pub gaps_ms: Vec<u64>,
}

/// Another body under an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictView {
    /// SHA-256 of the body.
    pub raw_hash: BodyHash,
    /// How often it came.
    pub seen: u64,
    /// When it came first.
    pub received_at: Timestamp,
    /// Size of its body.
    pub body_bytes: u64,
    /// Whether an operator released it as an event of its own.
    pub released_as: Option<EventId>,
}

/// How much of everything there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Unfinished work and dead letters for each destination and state.
    pub backlog: Vec<Backlog>,
    /// Ledger entries for each scope.
    pub ledger: Vec<LedgerCount>,
    /// Events whose payload is kept.
    pub events: u64,
    /// Bytes on disk or in the database.
    pub store_bytes: u64,
}

/// Dead deliveries that have a destination and an error in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadGroup {
    /// Where to.
    pub destination: DestinationId,
    /// Why they were given up.
    pub error: Option<ErrorClass>,
    /// How many.
    pub count: u64,
    /// When the first of them died.
    pub first_at: Timestamp,
    /// When the last did.
    pub last_at: Timestamp,
    /// The event of the last.
    pub last: EventId,
}

/// Deliveries in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Where to.
    pub destination: DestinationId,
    /// In which state: pending, running, retrying or dead.
    pub state: DeliveryState,
    /// How many.
    pub count: u64,
    /// When the oldest of them was accepted.
    pub oldest: Option<Timestamp>,
}

/// Ledger entries of one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerCount {
    /// The scope.
    pub scope: Scope,
    /// How many.
    pub entries: u64,
}

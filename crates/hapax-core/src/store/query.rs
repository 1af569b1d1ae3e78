//! Queries and their results: events, deliveries, attempts and counts.

use serde::{Deserialize, Serialize};

use crate::{
    Attempt, BodyHash, DeliveryState, DestinationId, ErrorClass, EventId, EventStatus, Generation,
    IdempotencyKey, Scope, SourceName, StoredEvent, Timestamp, Token,
};

use super::{BodyTerm, IndexedValue, ReplayJobId, StoredBodies};

/// Selects the events to list. All given conditions must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventQuery {
    /// Received by this source.
    pub source: Option<SourceName>,
    /// With this status.
    pub status: Option<EventStatus>,
    /// Of this type; a trailing `*` matches any rest.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// With this provider's id or this Hapax id.
    pub event_id: Option<String>,
    /// With a delivery to this destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<DestinationId>,
    /// With a dead delivery of this error class; with `to`, the delivery to that destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorClass>,
    /// With this many duplicates, counting only flushed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicateCount>,
    /// With a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<Has>,
    /// With all of these values in the body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub body: Vec<BodyTerm>,
    /// The index into `body` of the term to look up in the source's index, instead of reading one body after another.
    /// Only events that were accepted with that field indexed are then found.
    #[serde(skip)]
    pub by_index: Option<usize>,
    /// How to read stored bodies and indexes.
    #[serde(skip)]
    pub stored: StoredBodies,
    /// Received at or after this time.
    pub since: Option<Timestamp>,
    /// Received before this time.
    pub until: Option<Timestamp>,
    /// The order of the result.
    #[serde(skip)]
    pub order: ListOrder,
}

/// The query of a stored job, as every version writes it: `duplicates` is stored under an earlier name.
pub(super) mod stored {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de, ser};
    use serde_json::Value;

    use super::EventQuery;

    const STORED: &str = "copies";
    const NAME: &str = "duplicates";

    pub(in crate::store) fn serialize<S: Serializer>(
        query: &EventQuery,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let query = serde_json::to_value(query).map_err(ser::Error::custom)?;
        renamed(query, NAME, STORED).serialize(serializer)
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<EventQuery, D::Error> {
        let query = Value::deserialize(deserializer)?;
        serde_json::from_value(renamed(query, STORED, NAME)).map_err(de::Error::custom)
    }

    fn renamed(mut query: Value, from: &str, to: &str) -> Value {
        if let Some(fields) = query.as_object_mut()
            && let Some(value) = fields.remove(from)
        {
            fields.insert(to.to_owned(), value);
        }
        query
    }
}

/// The order in which events are listed, by acceptance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// For people who browse events.
    #[default]
    NewestFirst,
    /// For replaying events.
    OldestFirst,
}

/// A range of duplicate counts, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateCount {
    /// The minimum.
    pub min: u64,
    /// The maximum; `None` for no limit.
    pub max: Option<u64>,
}

impl DuplicateCount {
    /// Whether a number of duplicates is within the range.
    pub fn fits(self, count: u64) -> bool {
        count >= self.min && self.max.is_none_or(|max| count <= max)
    }
}

/// Something that an event may have in addition to its deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Has {
    /// A conflicting body under the same id.
    Conflict,
}

impl EventQuery {
    /// Whether a stored body matches every term.
    pub fn fits_body(&self, event: EventId, stored: &[u8]) -> bool {
        let fits = |body: &[u8]| self.body.iter().all(|term| term.fits(body));
        self.body.is_empty() || self.stored.body(event, stored).is_some_and(|body| fits(&body))
    }

    /// The value to look up in the index, if one is used.
    pub fn indexed_value(&self) -> Option<IndexedValue> {
        let term = self.body.get(self.by_index?)?;
        Some(self.stored.indexed(term))
    }

    /// Whether a type matches the query's pattern.
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

/// The end of a page. Opaque to clients, and valid only for lists in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub u64);

/// One page of events.
#[derive(Clone, Debug, Default)]
pub struct EventPage {
    /// The events, in the order of the query.
    pub events: Vec<EventSummary>,
    /// Where the next page starts; `None` at the end. A page may contain fewer events than requested without being the
    /// last.
    pub next: Option<Cursor>,
    /// Bodies that were read to evaluate body terms without an index. A page reads a bounded number of them.
    pub bodies_read: u64,
}

/// An event in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSummary {
    /// The id that Hapax assigned.
    pub id: EventId,
    /// The source that received it.
    pub source: SourceName,
    /// The provider's id.
    pub event_id: String,
    /// The provider's event type.
    pub event_type: Option<String>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The event's status.
    pub status: EventStatus,
    /// The size of its body, in bytes.
    pub body_bytes: u64,
    /// The number of duplicates, counting only flushed ones.
    pub duplicates: u64,
}

/// One event with everything stored about it.
#[derive(Clone, Debug)]
pub struct EventRecord {
    /// The event.
    pub event: StoredEvent,
    /// The event's status.
    pub status: EventStatus,
    /// One per destination: the unfinished delivery or its last outcome.
    pub deliveries: Vec<DeliveryView>,
    /// All recorded attempts, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Its duplicates, counting only flushed ones.
    pub duplicates: Option<DuplicateTally>,
    /// Conflicting bodies under the same identity.
    pub conflicts: Vec<ConflictView>,
    /// An earlier event with the same body under another id, if ids are not signed.
    pub same_body_as: Option<EventId>,
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryView {
    /// The delivered event.
    pub event: EventId,
    /// The destination it is delivered to.
    pub destination: DestinationId,
    /// The delivery's state.
    pub state: DeliveryState,
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
    /// When it finished.
    pub finished_at: Option<Timestamp>,
    /// Why it is dead.
    pub error: Option<ErrorClass>,
    /// The key of its lane.
    pub lane: Option<String>,
    /// The replay job that requeued it.
    pub replay: Option<ReplayJobId>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptView {
    /// The destination that was called.
    pub destination: DestinationId,
    /// The generation of the event's identity.
    pub generation: Generation,
    /// The token of the lease it ran under.
    pub token: Token,
    /// The recorded attempt.
    pub attempt: Attempt,
}

/// The duplicates of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DuplicateTally {
    /// How many arrived after the first event.
    #[serde(rename = "copies")]
    pub count: u64,
    /// When the last one arrived.
    pub last_at: Timestamp,
    /// Milliseconds from the first event to each of the latest duplicates, newest last.
    pub gaps_ms: Vec<u64>,
}

/// A conflicting body under an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictView {
    /// SHA-256 of the body.
    pub raw_hash: BodyHash,
    /// How often it arrived.
    pub seen: u64,
    /// When it first arrived.
    pub received_at: Timestamp,
    /// The size of the body, in bytes.
    pub body_bytes: u64,
    /// The event as which an operator released it, if any.
    pub released_as: Option<EventId>,
}

/// Counts of everything a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Unfinished and dead deliveries, by destination and state.
    pub backlog: Vec<Backlog>,
    /// Ledger entries, by scope.
    pub ledger: Vec<LedgerCount>,
    /// Events whose payload is stored.
    pub events: u64,
    /// The size of the store on disk or in the database, in bytes.
    pub store_bytes: u64,
}

/// Dead deliveries with the same destination and error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadGroup {
    /// Their destination.
    pub destination: DestinationId,
    /// Why they are dead.
    pub error: Option<ErrorClass>,
    /// The number of deliveries.
    pub count: u64,
    /// When the first of them died.
    pub first_at: Timestamp,
    /// When the last of them died.
    pub last_at: Timestamp,
    /// The event of the last one.
    pub last: EventId,
}

/// Deliveries of one destination in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Their destination.
    pub destination: DestinationId,
    /// Their state: pending, running, retrying or dead.
    pub state: DeliveryState,
    /// The number of deliveries.
    pub count: u64,
    /// When the oldest of them was accepted.
    pub oldest: Option<Timestamp>,
}

/// Ledger entries of one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerCount {
    /// The scope.
    pub scope: Scope,
    /// The number of entries.
    pub entries: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stored_job_has_the_names_that_earlier_versions_know() {
        let stored = json!({
            "source": null, "status": null, "type": null, "event_id": null,
            "copies": { "min": 2, "max": null }, "since": null, "until": null,
        });
        let query = stored::deserialize(&stored).expect("a stored query");
        assert_eq!(query.duplicates, Some(DuplicateCount { min: 2, max: None }));
        assert_eq!(
            stored::serialize(&query, serde_json::value::Serializer).expect("stored"),
            stored
        );
        let api = serde_json::to_value(&query).expect("the API's form");
        assert_eq!(api["duplicates"], stored["copies"]);
        assert!(
            serde_json::from_value::<EventQuery>(stored).is_err(),
            "the API knows one name"
        );
    }
}

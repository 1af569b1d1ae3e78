//! Events, in lists and individually.

use hapax_core::{EventId, EventStatus, IdOrigin, SourceName, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{AttemptView, DeliveryView, IdentityView, VerificationView};
use crate::schemas;

/// One page of events, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct EventPageView {
    /// The events.
    pub events: Vec<EventSummaryView>,
    /// The `cursor` of the next page; null on the last page. A page can have fewer events than requested and still
    /// not be the last.
    pub next: Option<String>,
    /// How much of the store was searched.
    pub coverage: CoverageView,
}

/// How much of the store a search covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CoverageView {
    /// All stored events.
    #[default]
    Everything,
    /// The query matches a value in bodies, and the source indexes this field.
    Indexed {
        /// All events accepted since this time were searched.
        #[schema(value_type = String, format = DateTime)]
        since: Timestamp,
    },
    /// The query matches a value in bodies that is not indexed: the newest bodies were read one by one.
    Newest {
        /// The number of bodies read for all pages so far.
        bodies_read: u64,
        /// Whether the search reached its limit before it covered everything.
        is_cut: bool,
    },
}

/// An event in a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventSummaryView {
    /// The Hapax id.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// The name of the source.
    #[schema(value_type = String)]
    pub source: SourceName,
    /// The provider's id.
    pub event_id: String,
    /// The provider's event type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// The processing status of the event.
    #[schema(schema_with = schemas::event_status)]
    pub status: EventStatus,
    /// When it arrived.
    #[schema(value_type = String, format = DateTime)]
    pub received_at: Timestamp,
    /// The size of the body.
    pub body_bytes: u64,
    /// The number of duplicates recorded so far. Recent ones may be missing until they are flushed.
    pub duplicates: u64,
    /// The origin of the id.
    #[serde(default)]
    #[schema(schema_with = schemas::id_origin)]
    pub id_origin: IdOrigin,
}

/// An event with its history. The body is at `events/{id}/payload`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// The Hapax id.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// The name of the source.
    #[schema(value_type = String)]
    pub source: SourceName,
    /// The scope in which the id is unique.
    pub scope: String,
    /// The provider's id.
    pub event_id: String,
    /// The origin of the id.
    #[serde(default)]
    #[schema(schema_with = schemas::id_origin)]
    pub id_origin: IdOrigin,
    /// The provider's event type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// The processing status of the event.
    #[schema(schema_with = schemas::event_status)]
    pub status: EventStatus,
    /// When it arrived.
    #[schema(value_type = String, format = DateTime)]
    pub received_at: Timestamp,
    /// The signed timestamp.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub signed_at: Option<Timestamp>,
    /// The index of the source's secret that matched, counted from 0.
    pub secret_index: Option<u16>,
    /// Whether the event was erased: its headers, its body and the destinations' responses are gone.
    #[serde(default)]
    pub is_erased: bool,
    /// The size of the body.
    pub body_bytes: u64,
    /// SHA-256 of the body, in hexadecimal.
    pub body_sha256: String,
    /// The headers in order of arrival, with credentials redacted.
    pub headers: Vec<HeaderView>,
    /// The position in the batch that the event was split from.
    pub batch: Option<BatchView>,
    /// One delivery for each destination.
    pub deliveries: Vec<DeliveryView>,
    /// Every retained attempt, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Duplicates of the event.
    pub duplicates: Option<DuplicatesView>,
    /// Conflicting bodies that arrived under the same id.
    pub conflicts: Vec<ConflictView>,
    /// An earlier event with the same body under another id. Only detected if the source's ids are not signed.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub same_body_as: Option<EventId>,
    /// The event's identity, and why duplicates of it are recognized.
    #[serde(default)]
    pub identity: Option<IdentityView>,
    /// How the request was verified.
    #[serde(default)]
    pub verification: Option<VerificationView>,
}

/// A header as received; bytes that are not UTF-8 are replaced.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HeaderView {
    /// The header's name.
    pub name: String,
    /// The header's value.
    pub value: String,
}

/// The position of an event in the batch it arrived with.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct BatchView {
    /// The id of the request.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// The position, counted from 0.
    pub index: u32,
}

/// Duplicates of an event. They are buffered in memory: a crash loses the most recent ones.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DuplicatesView {
    /// The number of duplicates.
    pub count: u64,
    /// When the last one arrived.
    #[schema(value_type = String, format = DateTime)]
    pub last_at: Timestamp,
    /// Milliseconds from the first delivery to each of the most recent duplicates, newest last.
    pub gaps_ms: Vec<u64>,
}

/// A conflict: a different body under a known id.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ConflictView {
    /// SHA-256 of the body, in hexadecimal. It identifies the conflict in the API.
    pub body_sha256: String,
    /// How many times it arrived.
    pub seen: u64,
    /// When it first arrived.
    #[schema(value_type = String, format = DateTime)]
    pub received_at: Timestamp,
    /// The size of the body.
    pub body_bytes: u64,
    /// The event that it was released as.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub released_as: Option<EventId>,
}

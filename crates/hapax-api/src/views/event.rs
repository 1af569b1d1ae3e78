//! Events, in a list and one by one.

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
    /// What to pass as `cursor` to go on; null at the end. A page may hold fewer than asked for and still go on.
    pub next: Option<String>,
    /// What of the store was looked at.
    pub coverage: CoverageView,
}

/// What of the store a search looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CoverageView {
    /// Everything that is stored.
    #[default]
    Everything,
    /// The query asks for a value in bodies, and its source has that field indexed.
    Indexed {
        /// Everything that was accepted since this moment was looked at.
        #[schema(value_type = String, format = DateTime)]
        since: Timestamp,
    },
    /// The query asks for a value in bodies that no index has: the newest bodies were read, one after the other.
    Newest {
        /// Bodies read by all pages so far.
        bodies_read: u64,
        /// Whether the limit of one search ended it before everything was looked at.
        is_cut: bool,
    },
}

/// An event in a list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventSummaryView {
    /// Our id.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// The source.
    #[schema(value_type = String)]
    pub source: SourceName,
    /// The sender's id.
    pub event_id: String,
    /// The sender's type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// What has become of it.
    #[schema(schema_with = schemas::event_status)]
    pub status: EventStatus,
    /// When it arrived.
    #[schema(value_type = String, format = DateTime)]
    pub received_at: Timestamp,
    /// Size of its body.
    pub body_bytes: u64,
    /// Copies that came after the first, as far as they were flushed.
    pub duplicates: u64,
    /// Where its id comes from.
    #[serde(default)]
    #[schema(schema_with = schemas::id_origin)]
    pub id_origin: IdOrigin,
}

/// One event with everything that happened to it. Its body is at `events/{id}/payload`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// Our id.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// The source.
    #[schema(value_type = String)]
    pub source: SourceName,
    /// Where its id is unique.
    pub scope: String,
    /// The sender's id.
    pub event_id: String,
    /// Where its id comes from.
    #[serde(default)]
    #[schema(schema_with = schemas::id_origin)]
    pub id_origin: IdOrigin,
    /// The sender's type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// What has become of it.
    #[schema(schema_with = schemas::event_status)]
    pub status: EventStatus,
    /// When it arrived.
    #[schema(value_type = String, format = DateTime)]
    pub received_at: Timestamp,
    /// The timestamp under the signature.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub signed_at: Option<Timestamp>,
    /// Which of the source's secrets matched, counted from 0.
    pub secret_index: Option<u16>,
    /// Whether it was erased: its headers, its body and what was said of it are gone.
    #[serde(default)]
    pub is_erased: bool,
    /// Size of its body.
    pub body_bytes: u64,
    /// SHA-256 of its body, in hexadecimal.
    pub body_sha256: String,
    /// Its headers in the order of arrival; credentials are hidden.
    pub headers: Vec<HeaderView>,
    /// Of a split batch: where it was.
    pub batch: Option<BatchView>,
    /// One for each destination.
    pub deliveries: Vec<DeliveryView>,
    /// Every attempt kept, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Copies that came after the first.
    pub duplicates: Option<DuplicatesView>,
    /// Other bodies that came under the same id.
    pub conflicts: Vec<ConflictView>,
    /// An earlier event with the same body under another id, where ids are not signed.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub same_body_as: Option<EventId>,
    /// Which event it is, and why a copy of it is one.
    #[serde(default)]
    pub identity: Option<IdentityView>,
    /// How it proved that it is genuine.
    #[serde(default)]
    pub verification: Option<VerificationView>,
}

/// A header as it arrived; bytes that are not UTF-8 are replaced.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HeaderView {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// An item's place in the request it came with.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct BatchView {
    /// The id of the request.
    #[schema(value_type = String, format = "uuid")]
    pub id: EventId,
    /// The place in it, counted from 0.
    pub index: u32,
}

/// Copies of an event. Gathered in memory and flushed: a crash forgets the last few.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DuplicatesView {
    /// How many came after the first.
    pub count: u64,
    /// When the last did.
    #[schema(value_type = String, format = DateTime)]
    pub last_at: Timestamp,
    /// Milliseconds from the first to each of the last copies, newest last.
    pub gaps_ms: Vec<u64>,
}

/// Another body under the same id.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ConflictView {
    /// SHA-256 of it, in hexadecimal: its name in the API.
    pub body_sha256: String,
    /// How often it came.
    pub seen: u64,
    /// When it came first.
    #[schema(value_type = String, format = DateTime)]
    pub received_at: Timestamp,
    /// Its size.
    pub body_bytes: u64,
    /// The event it was released as.
    #[schema(value_type = Option<String>, format = "uuid")]
    pub released_as: Option<EventId>,
}

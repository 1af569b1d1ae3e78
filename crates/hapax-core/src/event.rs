//! Events: what is stored when a webhook is accepted.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::body_term::IndexedValue;
use crate::identity::is_set_aside;
use crate::{
    BodyHash, ContentHash, ErrorClass, EventId, Headers, Identity, Key, NewDelivery, Scope, SourceName,
    Timestamp,
};

/// An incoming event: verified and identified, but not yet claimed.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// The id it gets if it is the first with its identity; the same on every retry of the same write.
    pub id: EventId,
    /// The scope and the provider's id.
    pub identity: Identity,
    /// Its [`Identity::key`], computed once.
    pub key: Key,
    /// The source that received it.
    pub source: SourceName,
    /// The provider's event type, such as `invoice.paid`.
    pub event_type: Option<String>,
    /// When it arrived (host clock).
    pub received_at: Timestamp,
    /// The signed timestamp, if the scheme has one.
    pub signed_at: Option<Timestamp>,
    /// The index of the source's secret that matched, counted from 0.
    pub secret_index: Option<u16>,
    /// SHA-256 of the raw bytes.
    pub raw_hash: BodyHash,
    /// A hash of the fields that stay the same on a redelivery, if the preset excludes fields that change.
    pub content_hash: Option<ContentHash>,
    /// The headers as they arrived.
    pub headers: Headers,
    /// The body as it arrived; for a batch, the item.
    pub body: Bytes,
    /// For an item of a batch: the id of the request and the item's position in it.
    pub batch: Option<(EventId, u32)>,
    /// When the ledger may forget the id.
    pub ledger_until: Timestamp,
    /// The values of the fields that the source indexes.
    pub indexed: Vec<IndexedValue>,
    /// The deliveries to create, one for each destination that matches.
    pub deliveries: Vec<NewDelivery>,
    /// The scope and hash of the body that the event claims. If another id claimed the same body before, the event's
    /// deliveries are held ([`crate::store::Store::accept`]).
    pub claimed_body: Option<(Scope, BodyHash)>,
}

/// An event as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// The id that Hapax assigned.
    pub id: EventId,
    /// The scope and the provider's id.
    pub identity: Identity,
    /// The source that received it.
    pub source: SourceName,
    /// The provider's event type.
    pub event_type: Option<String>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The signed timestamp, if the scheme has one.
    pub signed_at: Option<Timestamp>,
    /// The index of the source's secret that matched, counted from 0.
    pub secret_index: Option<u16>,
    /// SHA-256 of the raw bytes.
    pub raw_hash: BodyHash,
    /// The headers as they arrived.
    pub headers: Headers,
    /// The body as it arrived.
    pub body: Bytes,
    /// For an item of a batch: the id of the request and the item's position in it.
    pub batch: Option<(EventId, u32)>,
}

impl From<NewEvent> for StoredEvent {
    fn from(event: NewEvent) -> Self {
        Self {
            id: event.id,
            identity: event.identity,
            source: event.source,
            event_type: event.event_type,
            received_at: event.received_at,
            signed_at: event.signed_at,
            secret_index: event.secret_index,
            raw_hash: event.raw_hash,
            headers: event.headers,
            body: event.body,
            batch: event.batch,
        }
    }
}

/// The status of an event, derived from its deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    /// At least one delivery is unfinished, and no unfinished delivery has failed yet.
    Pending,
    /// At least one delivery failed and will be retried.
    Failed,
    /// No delivery is unfinished, and at least one is dead.
    Dead,
    /// Its body arrived earlier under another id: no delivery is attempted until an operator releases it.
    Held,
    /// Every delivery completed.
    Completed,
    /// No destination matched.
    Ignored,
    /// It has no id of its own and is quarantined until an operator sends it to a destination.
    Quarantined,
}

impl EventStatus {
    /// Every status.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Failed,
        Self::Dead,
        Self::Held,
        Self::Completed,
        Self::Ignored,
        Self::Quarantined,
    ];

    /// The status of an event whose deliveries are all finished, given the error classes of the dead ones.
    pub fn of_finished(dead: impl IntoIterator<Item = Option<ErrorClass>>) -> Self {
        dead.into_iter()
            .fold(Self::Completed, |status, reason| match (status, reason) {
                (Self::Completed | Self::Held, Some(ErrorClass::SameBody)) => Self::Held,
                (_, _) => Self::Dead,
            })
    }

    /// The status of an event without deliveries.
    pub fn without_deliveries(event_id: &str) -> Self {
        if is_set_aside(event_id) {
            Self::Quarantined
        } else {
            Self::Ignored
        }
    }

    /// The status's name, as used in the API, logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Held => "held",
            Self::Completed => "completed",
            Self::Ignored => "ignored",
            Self::Quarantined => "quarantined",
        }
    }
}

impl fmt::Display for EventStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for EventStatus {
    type Err = NotAStatus;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| NotAStatus(text.to_owned()))
    }
}

/// The string is not an event status.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a status; use pending, failed, dead, held, completed, ignored or quarantined")]
pub struct NotAStatus(String);

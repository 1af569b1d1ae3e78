//! The contents of an event: the head, which lists read, and headers with the body, which they do not.

use bytes::Bytes;
use hapax_core::store::plain_body_bytes;
use hapax_core::{BodyHash, EventId, Headers, Identity, NewEvent, StoredEvent, Timestamp};
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteArray, ByteBuf};

use crate::failure::{Failure, damaged};

/// Everything but headers and body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) scope: String,
    pub(crate) event_id: String,
    pub(crate) source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event_type: Option<String>,
    pub(crate) received_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signed_at: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret_index: Option<u16>,
    raw_hash: ByteArray<32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    batch: Option<(ByteBuf, u32)>,
    pub(crate) body_bytes: u64,
    /// Set on an erased event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    erased: Option<bool>,
}

impl Head {
    pub(crate) fn is_erased(&self) -> bool {
        self.erased == Some(true)
    }

    /// The head after the event is erased.
    pub(crate) fn without_body(&self) -> Self {
        Self {
            body_bytes: 0,
            erased: Some(true),
            ..self.clone()
        }
    }

    pub(crate) fn of_new(event: &NewEvent) -> Self {
        Self {
            scope: event.identity.scope.to_string(),
            event_id: event.identity.event_id.clone(),
            source: event.source.to_string(),
            event_type: event.event_type.clone(),
            received_at: event.received_at.as_micros(),
            signed_at: event.signed_at.map(Timestamp::as_micros),
            secret_index: event.secret_index,
            raw_hash: ByteArray::new(*event.raw_hash.as_bytes()),
            batch: event
                .batch
                .map(|(id, index)| (ByteBuf::from(id.as_bytes()), index)),
            body_bytes: plain_body_bytes(event.headers.as_bytes(), event.body.len() as u64),
            erased: None,
        }
    }

    pub(crate) fn of_stored(event: &StoredEvent) -> Self {
        Self {
            scope: event.identity.scope.to_string(),
            event_id: event.identity.event_id.clone(),
            source: event.source.to_string(),
            event_type: event.event_type.clone(),
            received_at: event.received_at.as_micros(),
            signed_at: event.signed_at.map(Timestamp::as_micros),
            secret_index: event.secret_index,
            raw_hash: ByteArray::new(*event.raw_hash.as_bytes()),
            batch: event
                .batch
                .map(|(id, index)| (ByteBuf::from(id.as_bytes()), index)),
            body_bytes: plain_body_bytes(event.headers.as_bytes(), event.body.len() as u64),
            erased: event.headers.is_erased().then_some(true),
        }
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity::new(self.scope.as_str(), self.event_id.as_str())
    }

    pub(crate) const fn received_at(&self) -> Timestamp {
        Timestamp::from_micros(self.received_at)
    }

    pub(crate) fn event(self, id: EventId, packed: Vec<u8>) -> Result<StoredEvent, Failure> {
        let (headers, body) = unpack_body(packed)?;
        let batch = match self.batch {
            Some((id, index)) => Some((EventId::from_bytes(super::sixteen(&id)?), index)),
            None => None,
        };
        Ok(StoredEvent {
            id,
            identity: Identity::new(self.scope, self.event_id),
            source: self.source.into(),
            event_type: self.event_type,
            received_at: Timestamp::from_micros(self.received_at),
            signed_at: self.signed_at.map(Timestamp::from_micros),
            secret_index: self.secret_index,
            raw_hash: BodyHash::from_bytes(self.raw_hash.into_array()),
            headers,
            body,
            batch,
        })
    }
}

/// Headers after their length, then the body.
pub(crate) fn pack_body(headers: &Headers, body: &[u8]) -> Vec<u8> {
    let headers = headers.as_bytes();
    let mut packed = Vec::with_capacity(4 + headers.len() + body.len());
    packed.extend((headers.len() as u32).to_be_bytes());
    packed.extend(headers);
    packed.extend(body);
    packed
}

pub(crate) fn unpack_body(packed: Vec<u8>) -> Result<(Headers, Bytes), Failure> {
    let mut packed = Bytes::from(packed);
    let length = packed.first_chunk().copied().map(u32::from_be_bytes);
    let end = length.map(|length| 4 + length as usize);
    let end = end
        .filter(|end| *end <= packed.len())
        .ok_or_else(|| damaged("the body of an event"))?;
    let body = packed.split_off(end);
    Ok((Headers::from_bytes(packed.split_off(4)), body))
}

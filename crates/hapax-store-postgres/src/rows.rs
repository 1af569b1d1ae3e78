//! How values are stored in columns: codes of states, ids, hashes, and whole events.

use std::ops::Range;

use bytes::Bytes;
use hapax_core::store::{DeliveryView, ReplayJobId};
use hapax_core::{
    BodyHash, DeliveryState, DestinationId, ErrorClass, EventId, Generation, Headers, IdempotencyKey,
    Identity, Key, Lane, OnDead, StoredEvent, Timestamp,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::failure::Failure;

/// [`hapax_core::Headers::erased`] as an SQL literal.
macro_rules! erased_headers {
    () => {
        r"'\x000c0000000068617061782d657261736564'::bytea"
    };
}
pub(crate) use erased_headers;

/// The position of a delivery in the index that leases read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Fresh,
    Running,
    Suspect,
    Waiting,
}

impl Class {
    pub(crate) const fn code(self) -> i16 {
        match self {
            Self::Fresh => 0,
            Self::Running => 1,
            Self::Suspect => 2,
            Self::Waiting => 3,
        }
    }

    /// The class of a due delivery, by the number of leases it has lost.
    pub(crate) const fn due(lost: u32) -> Self {
        if lost == 0 { Self::Fresh } else { Self::Suspect }
    }
}

/// The number that stands for a state in the database.
pub(crate) const fn state_code(state: DeliveryState) -> i16 {
    match state {
        DeliveryState::Pending => 0,
        DeliveryState::Running => 1,
        DeliveryState::Retrying => 2,
        DeliveryState::Completed => 3,
        DeliveryState::Dead => 4,
        DeliveryState::Discarded => 5,
    }
}

/// The state behind a number.
pub(crate) fn state_of(code: i16) -> Result<DeliveryState, Failure> {
    DeliveryState::ALL
        .into_iter()
        .find(|state| state_code(*state) == code)
        .ok_or_else(|| Failure::Unreadable(format!("{code} is not a delivery state")))
}

/// The number for what a dead head does.
pub(crate) const fn on_dead_code(on_dead: OnDead) -> i16 {
    match on_dead {
        OnDead::Hold => 0,
        OnDead::Skip => 1,
    }
}

/// A lane from its two columns.
pub(crate) fn lane_of(key: Option<String>, on_dead: Option<i16>) -> Option<Lane> {
    key.map(|key| Lane {
        key,
        on_dead: if on_dead == Some(1) {
            OnDead::Skip
        } else {
            OnDead::Hold
        },
    })
}

/// An id in the form of its column.
pub(crate) const fn uuid_of(id: EventId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

/// A key in the form of its column.
pub(crate) const fn key_uuid(key: Key) -> Uuid {
    Uuid::from_bytes(*key.as_bytes())
}

/// The bucket of an event.
pub(crate) fn bucket_of(id: EventId) -> i16 {
    i16::from(id.bucket())
}

/// All buckets.
pub(crate) const BUCKETS: Range<i16> = 0..64;

/// The bucket of an identity.
pub(crate) fn key_bucket(key: Key) -> i16 {
    i16::from(key.bucket())
}

/// The bucket of anything else, such as a lane or a body, by its bytes (FNV-1a).
pub(crate) fn bucket_by(parts: &[&[u8]]) -> i16 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    ((hash ^ (hash >> 32)) & 0x3f) as i16
}

pub(crate) fn id_at(row: &Row, column: usize) -> Result<EventId, Failure> {
    Ok(EventId::from_bytes(row.try_get::<_, Uuid>(column)?.into_bytes()))
}

pub(crate) fn optional_id_at(row: &Row, column: usize) -> Result<Option<EventId>, Failure> {
    let found: Option<Uuid> = row.try_get(column)?;
    Ok(found.map(|id| EventId::from_bytes(id.into_bytes())))
}

pub(crate) fn key_at(row: &Row, column: usize) -> Result<Key, Failure> {
    Ok(Key::from_bytes(row.try_get::<_, Uuid>(column)?.into_bytes()))
}

pub(crate) fn hash_at(row: &Row, column: usize) -> Result<BodyHash, Failure> {
    optional_hash_at(row, column)?
        .ok_or_else(|| Failure::Unreadable(format!("column {column} of a stored row is empty")))
}

pub(crate) fn optional_hash_at(row: &Row, column: usize) -> Result<Option<BodyHash>, Failure> {
    let found: Option<&[u8]> = row.try_get(column)?;
    found
        .map(|bytes| {
            bytes.try_into().map(BodyHash::from_bytes).map_err(|_| {
                Failure::Unreadable(format!("column {column} of a stored row has the wrong length"))
            })
        })
        .transpose()
}

pub(crate) fn time_at(row: &Row, column: usize) -> Result<Timestamp, Failure> {
    Ok(Timestamp::from_micros(row.try_get(column)?))
}

pub(crate) fn optional_time_at(row: &Row, column: usize) -> Result<Option<Timestamp>, Failure> {
    let found: Option<i64> = row.try_get(column)?;
    Ok(found.map(Timestamp::from_micros))
}

pub(crate) fn count_at(row: &Row, column: usize) -> Result<u32, Failure> {
    let found: i64 = row.try_get(column)?;
    u32::try_from(found)
        .map_err(|_| Failure::Unreadable(format!("column {column} of a stored row is not a count")))
}

pub(crate) fn generation_at(row: &Row, column: usize) -> Result<Generation, Failure> {
    count_at(row, column).map(Generation)
}

pub(crate) fn idempotency_key_at(row: &Row, column: usize) -> Result<IdempotencyKey, Failure> {
    let found: Uuid = row.try_get(column)?;
    Ok(IdempotencyKey::from_bytes(found.into_bytes()))
}

pub(crate) fn error_at(row: &Row, column: usize) -> Result<Option<ErrorClass>, Failure> {
    let text: Option<&str> = row.try_get(column)?;
    text.map(|text| {
        ErrorClass::from_name(text)
            .ok_or_else(|| Failure::Unreadable(format!("`{text}` is not an error class")))
    })
    .transpose()
}

/// The columns of an event that [`event_at`] reads.
macro_rules! event_columns {
    () => {
        "e.id, e.scope, e.event_id, e.source, e.type, e.received_at, e.signed_at, e.secret_index, e.raw_hash,
         e.batch_id, e.batch_index, e.headers, e.body"
    };
}
pub(crate) use event_columns;

/// An event. The columns are those of `event_columns`.
pub(crate) fn event_at(row: &Row) -> Result<StoredEvent, Failure> {
    let secret_index: Option<i32> = row.try_get(7)?;
    let batch_index: Option<i64> = row.try_get(10)?;
    let narrow = |_| Failure::Unreadable("a stored event has a number out of range".to_owned());
    Ok(StoredEvent {
        id: id_at(row, 0)?,
        identity: Identity::new(row.try_get::<_, &str>(1)?, row.try_get::<_, String>(2)?),
        source: row.try_get::<_, &str>(3)?.into(),
        event_type: row.try_get(4)?,
        received_at: time_at(row, 5)?,
        signed_at: optional_time_at(row, 6)?,
        secret_index: secret_index.map(u16::try_from).transpose().map_err(narrow)?,
        raw_hash: hash_at(row, 8)?,
        headers: Headers::from_bytes(Bytes::copy_from_slice(row.try_get(11)?)),
        body: Bytes::copy_from_slice(row.try_get(12)?),
        batch: optional_id_at(row, 9)?.zip(batch_index.map(u32::try_from).transpose().map_err(narrow)?),
    })
}

/// The columns of an unfinished delivery that [`work_view`] reads.
macro_rules! work_view_columns {
    () => {
        "id, destination, state, generation, idempotency_key, attempts, lost, lane, replay, class, wake_at"
    };
}
pub(crate) use work_view_columns;

/// An unfinished delivery as it is shown to people. The columns are those of `work_view_columns`.
pub(crate) fn work_view(row: &Row) -> Result<DeliveryView, Failure> {
    let class: i16 = row.try_get(9)?;
    let due = class == Class::Fresh.code() || class == Class::Suspect.code();
    Ok(DeliveryView {
        due_at: if due { Some(time_at(row, 10)?) } else { None },
        ..view(row)?
    })
}

/// The columns of an outcome that [`outcome_view`] reads.
macro_rules! outcome_view_columns {
    () => {
        "id, destination, state, generation, idempotency_key, attempts, lost, lane, replay, finished_at, error"
    };
}
pub(crate) use outcome_view_columns;

/// A finished delivery as it is shown to people. The columns are those of `outcome_view_columns`.
pub(crate) fn outcome_view(row: &Row) -> Result<DeliveryView, Failure> {
    Ok(DeliveryView {
        finished_at: Some(time_at(row, 9)?),
        error: error_at(row, 10)?,
        ..view(row)?
    })
}

fn view(row: &Row) -> Result<DeliveryView, Failure> {
    Ok(DeliveryView {
        event: id_at(row, 0)?,
        destination: DestinationId::from(row.try_get::<_, &str>(1)?),
        state: state_of(row.try_get(2)?)?,
        generation: generation_at(row, 3)?,
        idempotency_key: idempotency_key_at(row, 4)?,
        attempts: count_at(row, 5)?,
        lost: count_at(row, 6)?,
        due_at: None,
        finished_at: None,
        error: None,
        lane: row.try_get(7)?,
        replay: optional_id_at(row, 8)?.map(ReplayJobId),
    })
}

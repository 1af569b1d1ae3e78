//! How values are stored in columns: codes of states, ids, hashes, and whole events.

use bytes::Bytes;
use hapax_core::store::{DeliveryView, ReplayJobId};
use hapax_core::{
    BodyHash, DeliveryState, ErrorClass, EventId, Generation, Headers, IdempotencyKey, Identity, Key, Lane,
    OnDead, StoredEvent, Timestamp,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::failure::Failure;
use crate::names::Names;

/// The position of a delivery in the index that leases read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Fresh,
    Running,
    Suspect,
    Waiting,
}

impl Class {
    pub(crate) const fn code(self) -> i64 {
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

/// The number that stands for a state in the file.
pub(crate) const fn state_code(state: DeliveryState) -> i64 {
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
pub(crate) fn state_of(code: i64) -> Result<DeliveryState, Failure> {
    DeliveryState::ALL
        .into_iter()
        .find(|state| state_code(*state) == code)
        .ok_or_else(|| Failure::Unreadable(format!("{code} is not a delivery state")))
}

/// The number for what a dead head does.
pub(crate) const fn on_dead_code(on_dead: OnDead) -> i64 {
    match on_dead {
        OnDead::Hold => 0,
        OnDead::Skip => 1,
    }
}

/// A lane from its two columns.
pub(crate) fn lane_of(key: Option<String>, on_dead: Option<i64>) -> Option<Lane> {
    key.map(|key| Lane {
        key,
        on_dead: if on_dead == Some(1) {
            OnDead::Skip
        } else {
            OnDead::Hold
        },
    })
}

/// A column of exactly `N` bytes.
pub(crate) fn bytes_at<const N: usize>(row: &Row<'_>, column: usize) -> Result<[u8; N], Failure> {
    optional_bytes_at(row, column)?
        .ok_or_else(|| Failure::Unreadable(format!("column {column} of a stored row is empty")))
}

/// A column of exactly `N` bytes, or NULL.
pub(crate) fn optional_bytes_at<const N: usize>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<[u8; N]>, Failure> {
    let value = row.get_ref(column)?;
    let blob = value
        .as_blob_or_null()
        .map_err(|error| Failure::Unreadable(format!("column {column} of a stored row: {error}")))?;
    blob.map(|blob| {
        blob.try_into()
            .map_err(|_| Failure::Unreadable(format!("column {column} of a stored row has the wrong length")))
    })
    .transpose()
}

pub(crate) fn id_at(row: &Row<'_>, column: usize) -> Result<EventId, Failure> {
    bytes_at(row, column).map(EventId::from_bytes)
}

pub(crate) fn optional_id_at(row: &Row<'_>, column: usize) -> Result<Option<EventId>, Failure> {
    Ok(optional_bytes_at(row, column)?.map(EventId::from_bytes))
}

pub(crate) fn hash_at(row: &Row<'_>, column: usize) -> Result<BodyHash, Failure> {
    bytes_at(row, column).map(BodyHash::from_bytes)
}

pub(crate) fn key_at(row: &Row<'_>, column: usize) -> Result<Key, Failure> {
    bytes_at(row, column).map(Key::from_bytes)
}

pub(crate) fn time_at(row: &Row<'_>, column: usize) -> Result<Timestamp, Failure> {
    Ok(Timestamp::from_micros(row.get(column)?))
}

pub(crate) fn optional_time_at(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, Failure> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Timestamp::from_micros))
}

pub(crate) fn error_at(row: &Row<'_>, column: usize) -> Result<Option<ErrorClass>, Failure> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| {
        ErrorClass::from_name(&text)
            .ok_or_else(|| Failure::Unreadable(format!("`{text}` is not an error class")))
    })
    .transpose()
}

/// The event in row `seq`.
pub(crate) fn read_event(
    connection: &Connection,
    names: &mut Names,
    seq: i64,
) -> Result<Option<StoredEvent>, Failure> {
    let mut select = connection.prepare_cached(
        "SELECT id, scope, source, received_at, event_id, type, signed_at, secret_index, raw_hash,
                batch_id, batch_index, headers, body
         FROM events WHERE seq = ?1",
    )?;
    let mut rows = select.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let blob = |column: usize| -> Result<Bytes, Failure> {
        let value = row.get_ref(column)?;
        let bytes = value
            .as_blob()
            .map_err(|error| Failure::Unreadable(format!("a payload: {error}")))?;
        Ok(Bytes::copy_from_slice(bytes))
    };
    let batch_index: Option<u32> = row.get(10)?;
    Ok(Some(StoredEvent {
        id: id_at(row, 0)?,
        identity: Identity {
            scope: names.named(connection, row.get(1)?)?.scope.clone(),
            event_id: row.get(4)?,
        },
        source: names.named(connection, row.get(2)?)?.source.clone(),
        event_type: row.get(5)?,
        received_at: time_at(row, 3)?,
        signed_at: optional_time_at(row, 6)?,
        secret_index: row.get(7)?,
        raw_hash: hash_at(row, 8)?,
        headers: Headers::from_bytes(blob(11)?),
        body: blob(12)?,
        batch: optional_id_at(row, 9)?.zip(batch_index),
    }))
}

/// The columns of an unfinished delivery that [`work_view`] reads.
pub(crate) const WORK_VIEW: &str =
    "destination, state, generation, idempotency_key, attempts, lost, class, wake_at, lane, replay";

/// An unfinished delivery as it is shown to people. The columns are those of [`WORK_VIEW`].
pub(crate) fn work_view(
    connection: &Connection,
    names: &mut Names,
    event: EventId,
    row: &Row<'_>,
) -> Result<DeliveryView, Failure> {
    let class: i64 = row.get(6)?;
    let due = class == Class::Fresh.code() || class == Class::Suspect.code();
    Ok(DeliveryView {
        event,
        destination: names.named(connection, row.get(0)?)?.destination.clone(),
        state: state_of(row.get(1)?)?,
        generation: Generation(row.get(2)?),
        idempotency_key: IdempotencyKey::from_bytes(bytes_at(row, 3)?),
        attempts: row.get(4)?,
        lost: row.get(5)?,
        due_at: if due { Some(time_at(row, 7)?) } else { None },
        finished_at: None,
        error: None,
        lane: row.get(8)?,
        replay: optional_id_at(row, 9)?.map(ReplayJobId),
    })
}

/// The columns of an outcome that [`outcome_view`] reads.
pub(crate) const OUTCOME_VIEW: &str =
    "destination, state, generation, idempotency_key, attempts, lost, finished_at, error, lane, replay";

/// A finished delivery as it is shown to people. The columns are those of [`OUTCOME_VIEW`].
pub(crate) fn outcome_view(
    connection: &Connection,
    names: &mut Names,
    event: EventId,
    row: &Row<'_>,
) -> Result<DeliveryView, Failure> {
    Ok(DeliveryView {
        event,
        destination: names.named(connection, row.get(0)?)?.destination.clone(),
        state: state_of(row.get(1)?)?,
        generation: Generation(row.get(2)?),
        idempotency_key: IdempotencyKey::from_bytes(bytes_at(row, 3)?),
        attempts: row.get(4)?,
        lost: row.get(5)?,
        due_at: None,
        finished_at: optional_time_at(row, 6)?,
        error: error_at(row, 7)?,
        lane: row.get(8)?,
        replay: optional_id_at(row, 9)?.map(ReplayJobId),
    })
}

/// The id of the event in row `seq`.
pub(crate) fn event_id_of(connection: &Connection, seq: i64) -> Result<Option<EventId>, Failure> {
    let mut select = connection.prepare_cached("SELECT id FROM events WHERE seq = ?1")?;
    let found = select.query_row([seq], |row| Ok(id_at(row, 0))).optional()?;
    found.transpose()
}

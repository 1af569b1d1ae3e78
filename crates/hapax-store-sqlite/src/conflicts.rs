//! Conflicts: other bodies under a known identity, stored apart, read and released.

use bytes::Bytes;
use hapax_core::store::{CONFLICTS_MAX, ConflictRecorded, ConflictingBody, Error};
use hapax_core::{BodyHash, EventId, Headers};
use rusqlite::params;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::noted::{self, Noted};
use crate::reader::ReadDesk;
use crate::rows::{id_at, key_at, time_at};

/// Stores conflicts independently of each other, each body once.
pub(crate) fn record_conflicts(
    desk: &mut Desk<'_>,
    other_bodies: &[ConflictingBody],
) -> Result<Vec<Result<ConflictRecorded, Error>>, Failure> {
    let mut answers = Vec::with_capacity(other_bodies.len());
    for other_body in other_bodies {
        answers.push(match other_body.check() {
            Ok(()) => desk
                .item(|desk| keep(desk, other_body))?
                .map_err(|failure| failure.to_error()),
            Err(error) => Err(error),
        });
    }
    Ok(answers)
}

/// A conflicting body.
pub(crate) fn conflict(
    desk: &mut ReadDesk,
    first: EventId,
    raw_hash: BodyHash,
) -> Result<Option<ConflictingBody>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT first, key, source, received_at, headers, body FROM conflicts
         WHERE first = ?1 AND raw_hash = ?2",
    )?;
    let mut rows = select.query((first.as_bytes(), raw_hash.as_bytes()))?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(ConflictingBody {
        key: key_at(row, 1)?,
        first: id_at(row, 0)?,
        source: desk.names.named(&desk.connection, row.get(2)?)?.source.clone(),
        raw_hash,
        received_at: time_at(row, 3)?,
        headers: Headers::from_bytes(row.get::<_, Vec<u8>>(4)?),
        body: Bytes::from(row.get::<_, Vec<u8>>(5)?),
    }))
}

/// Records the event as which a body was released.
pub(crate) fn mark_released(
    desk: &mut Desk<'_>,
    (first, raw_hash, event): &(EventId, BodyHash, EventId),
) -> Result<(), Failure> {
    desk.connection
        .prepare_cached("UPDATE conflicts SET released_as = ?3 WHERE first = ?1 AND raw_hash = ?2")?
        .execute((first.as_bytes(), raw_hash.as_bytes(), event.as_bytes()))?;
    Ok(())
}

fn keep(desk: &mut Desk<'_>, other_body: &ConflictingBody) -> Result<ConflictRecorded, Failure> {
    let again = desk
        .connection
        .prepare_cached("UPDATE conflicts SET seen = seen + 1 WHERE first = ?1 AND raw_hash = ?2")?
        .execute((other_body.first.as_bytes(), other_body.raw_hash.as_bytes()))?;
    if again == 1 {
        return Ok(ConflictRecorded::Again);
    }
    let kept: i64 = desk
        .connection
        .prepare_cached("SELECT count(*) FROM conflicts WHERE first = ?1")?
        .query_row([other_body.first.as_bytes()], |row| row.get(0))?;
    if kept >= CONFLICTS_MAX as i64 {
        return Ok(ConflictRecorded::Full);
    }
    let source = desk.intern(other_body.source.as_str())?;
    desk.connection
        .prepare_cached(
            "INSERT INTO conflicts (first, raw_hash, key, source, received_at, seen, headers, body)
             VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7)",
        )?
        .execute(params![
            other_body.first.as_bytes(),
            other_body.raw_hash.as_bytes(),
            other_body.key.as_bytes(),
            source,
            other_body.received_at.as_micros(),
            other_body.headers.as_bytes(),
            &other_body.body[..],
        ])?;
    noted::note(desk, Noted::Conflict, other_body.first)?;
    Ok(ConflictRecorded::Kept)
}

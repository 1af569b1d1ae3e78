//! One event with its full history.

use hapax_core::store::{AttemptView, ConflictView, DeliveryView, DuplicateTally, EventRecord};
use hapax_core::{Attempt, DeliveryState, EventId, EventStatus, Generation, Token};
use rusqlite::{Connection, OptionalExtension};

use crate::desk::find_event;
use crate::duplicates::read_tally;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::{
    OUTCOME_VIEW, WORK_VIEW, error_at, hash_at, id_at, optional_id_at, outcome_view, read_event, state_of,
    time_at, work_view,
};

pub(crate) fn get(desk: &mut ReadDesk, id: EventId) -> Result<Option<EventRecord>, Failure> {
    let Some(seq) = find_event(&desk.connection, id)? else {
        return Ok(None);
    };
    let Some(event) = read_event(&desk.connection, &mut desk.names, seq)? else {
        return Ok(None);
    };
    let key = event.identity.key();
    Ok(Some(EventRecord {
        status: status(&desk.connection, seq, &event.identity.event_id)?,
        deliveries: deliveries(desk, id, seq)?,
        attempts: attempts(desk, seq)?,
        duplicates: duplicates(desk, key)?,
        conflicts: conflicts(desk, id)?,
        same_body_as: same_body(desk, id)?,
        event,
    }))
}

/// The status of the event in row `seq`, which its provider calls `event_id`.
pub(crate) fn status(connection: &Connection, seq: i64, event_id: &str) -> Result<EventStatus, Failure> {
    let mut select = connection.prepare_cached("SELECT state, attempts FROM work WHERE seq = ?1")?;
    let mut rows = select.query([seq])?;
    let mut unfinished = None;
    while let Some(row) = rows.next()? {
        let attempts: u32 = row.get(1)?;
        let failures = match state_of(row.get(0)?)? {
            DeliveryState::Running => attempts.saturating_sub(1),
            DeliveryState::Pending
            | DeliveryState::Retrying
            | DeliveryState::Completed
            | DeliveryState::Dead
            | DeliveryState::Discarded => attempts,
        };
        if failures > 0 {
            return Ok(EventStatus::Failed);
        }
        unfinished = Some(EventStatus::Pending);
    }
    match unfinished {
        Some(status) => Ok(status),
        None => finished_status(connection, seq, event_id),
    }
}

fn finished_status(connection: &Connection, seq: i64, event_id: &str) -> Result<EventStatus, Failure> {
    let mut select =
        connection.prepare_cached("SELECT state, error FROM outcomes WHERE seq = ?1 AND current = 1")?;
    let mut rows = select.query([seq])?;
    let (mut is_any, mut dead) = (false, Vec::new());
    while let Some(row) = rows.next()? {
        is_any = true;
        if state_of(row.get(0)?)? == DeliveryState::Dead {
            dead.push(error_at(row, 1)?);
        }
    }
    Ok(if is_any {
        EventStatus::of_finished(dead)
    } else {
        EventStatus::without_deliveries(event_id)
    })
}

fn deliveries(desk: &mut ReadDesk, id: EventId, seq: i64) -> Result<Vec<DeliveryView>, Failure> {
    let mut views = Vec::new();
    let mut work = desk
        .connection
        .prepare_cached(&format!("SELECT {WORK_VIEW} FROM work WHERE seq = ?1"))?;
    let mut rows = work.query([seq])?;
    while let Some(row) = rows.next()? {
        views.push(work_view(&desk.connection, &mut desk.names, id, row)?);
    }
    let mut outcomes = desk.connection.prepare_cached(&format!(
        "SELECT {OUTCOME_VIEW} FROM outcomes WHERE seq = ?1 AND current = 1"
    ))?;
    let mut rows = outcomes.query([seq])?;
    while let Some(row) = rows.next()? {
        views.push(outcome_view(&desk.connection, &mut desk.names, id, row)?);
    }
    views.sort_by(|one, other| one.destination.cmp(&other.destination));
    Ok(views)
}

pub(crate) fn attempts(desk: &mut ReadDesk, seq: i64) -> Result<Vec<AttemptView>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination, generation, token, started_at, duration_ms, status, excerpt, error, message
         FROM attempts WHERE seq = ?1 ORDER BY no",
    )?;
    let mut rows = select.query([seq])?;
    let mut views = Vec::new();
    while let Some(row) = rows.next()? {
        let named = desk.names.named(&desk.connection, row.get(0)?)?;
        views.push(AttemptView {
            destination: named.destination.clone(),
            generation: Generation(row.get(1)?),
            token: Token(row.get::<_, i64>(2)? as u64),
            attempt: Attempt {
                started_at: time_at(row, 3)?,
                duration_ms: row.get(4)?,
                status: row.get(5)?,
                excerpt: row.get(6)?,
                error: error_at(row, 7)?,
                message: row.get(8)?,
            },
        });
    }
    Ok(views)
}

fn duplicates(desk: &ReadDesk, key: hapax_core::Key) -> Result<Option<DuplicateTally>, Failure> {
    read_tally(&desk.connection, key)
}

fn conflicts(desk: &ReadDesk, id: EventId) -> Result<Vec<ConflictView>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT raw_hash, seen, received_at, length(body), released_as
         FROM conflicts WHERE first = ?1 ORDER BY no",
    )?;
    let mut rows = select.query([id.as_bytes()])?;
    let mut views = Vec::new();
    while let Some(row) = rows.next()? {
        views.push(ConflictView {
            raw_hash: hash_at(row, 0)?,
            seen: row.get::<_, i64>(1)? as u64,
            received_at: time_at(row, 2)?,
            body_bytes: row.get::<_, i64>(3)? as u64,
            released_as: optional_id_at(row, 4)?,
        });
    }
    Ok(views)
}

pub(crate) fn same_body(desk: &ReadDesk, id: EventId) -> Result<Option<EventId>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT earlier FROM same_body WHERE id = ?1")?;
    let found = select
        .query_row([id.as_bytes()], |row| Ok(id_at(row, 0)))
        .optional()?;
    found.transpose()
}

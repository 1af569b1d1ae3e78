//! Whether an event matches a query: cheap conditions are checked first, its body last.

use hapax_core::store::{EventQuery, EventSummary, Has, plain_body_bytes};
use hapax_core::{EventId, Identity, Scope, SourceName, Timestamp};

use crate::duplicates;
use crate::failure::Failure;
use crate::get::status;
use crate::reader::ReadDesk;
use crate::rows::{id_at, time_at};

/// Approximate limit for body bytes read per page: a few large bodies take as long as many small ones.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// The amount of bodies read for a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub(super) bodies: u64,
    bytes: u64,
}

impl Reading {
    pub(super) const fn is_spent(self) -> bool {
        self.bytes >= BODY_BYTES_MAX
    }
}

/// The event in row `seq`, if it matches.
pub(super) fn fitting(
    desk: &mut ReadDesk,
    query: &EventQuery,
    seq: i64,
    reading: &mut Reading,
) -> Result<Option<EventSummary>, Failure> {
    let Some(row) = read(desk, query, seq)? else {
        return Ok(None);
    };
    let connection = &desk.connection;
    let key = Identity::new(row.scope, row.event_id.as_str()).key();
    if let Some(wanted) = query.status
        && status(connection, seq, &row.event_id)? != wanted
    {
        return Ok(None);
    }
    if let Some(wanted) = query.duplicates
        && !wanted.fits(duplicates::count(connection, key)?)
    {
        return Ok(None);
    }
    let fits = fits_delivery(desk, query, seq)?
        && fits_conflict(desk, query, row.id)?
        && fits_body(desk, query, (row.id, seq), reading)?;
    if !fits {
        return Ok(None);
    }
    Ok(Some(EventSummary {
        id: row.id,
        source: row.source,
        status: status(&desk.connection, seq, &row.event_id)?,
        event_id: row.event_id,
        event_type: row.event_type,
        received_at: row.received_at,
        body_bytes: row.body_bytes,
        duplicates: duplicates::count(&desk.connection, key)?,
    }))
}

/// The columns of an event's own row.
struct EventRow {
    id: EventId,
    source: SourceName,
    scope: Scope,
    event_id: String,
    event_type: Option<String>,
    received_at: Timestamp,
    body_bytes: u64,
}

/// The row, if its columns match.
fn read(desk: &mut ReadDesk, query: &EventQuery, seq: i64) -> Result<Option<EventRow>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT id, source, event_id, type, received_at, length(body), scope, substr(headers, 1, 5)
         FROM events WHERE seq = ?1",
    )?;
    let mut rows = select.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let source = desk.names.named(&desk.connection, row.get(1)?)?.source.clone();
    let event_type: Option<String> = row.get(3)?;
    let received_at = time_at(row, 4)?;
    let fits = query.source.as_ref().is_none_or(|wanted| *wanted == source)
        && query.fits_type(event_type.as_deref())
        && query.since.is_none_or(|since| received_at >= since)
        && query.until.is_none_or(|until| received_at < until);
    if !fits {
        return Ok(None);
    }
    Ok(Some(EventRow {
        id: id_at(row, 0)?,
        source,
        scope: desk.names.named(&desk.connection, row.get(6)?)?.scope.clone(),
        event_id: row.get(2)?,
        event_type,
        received_at,
        // SQLite returns NULL for the start of an empty value: there were no headers.
        body_bytes: plain_body_bytes(
            &row.get::<_, Option<Vec<u8>>>(7)?.unwrap_or_default(),
            row.get::<_, i64>(5)? as u64,
        ),
    }))
}

/// Whether the event has a matching delivery to the destination: a dead one with the given error, or any.
fn fits_delivery(desk: &mut ReadDesk, query: &EventQuery, seq: i64) -> Result<bool, Failure> {
    let to = match &query.to {
        Some(to) => match desk.names.find(&desk.connection, to.as_str())? {
            Some(number) => Some(number),
            None => return Ok(false),
        },
        None => None,
    };
    if let Some(error) = query.error {
        let mut select = desk.connection.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM outcomes WHERE seq = ?1 AND current = 1 AND state = 4 AND error = ?2
                            AND (?3 IS NULL OR destination = ?3))",
        )?;
        return Ok(select.query_row((seq, error.as_str(), to), |row| row.get(0))?);
    }
    let Some(to) = to else {
        return Ok(true);
    };
    let mut select = desk.connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM work WHERE seq = ?1 AND destination = ?2)
             OR EXISTS (SELECT 1 FROM outcomes WHERE seq = ?1 AND destination = ?2 AND current = 1)",
    )?;
    Ok(select.query_row((seq, to), |row| row.get(0))?)
}

fn fits_conflict(desk: &ReadDesk, query: &EventQuery, event: EventId) -> Result<bool, Failure> {
    match query.has {
        None => Ok(true),
        Some(Has::Conflict) => {
            let mut select = desk
                .connection
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM conflicts WHERE first = ?1)")?;
            Ok(select.query_row([event.as_bytes()], |row| row.get(0))?)
        }
    }
}

fn fits_body(
    desk: &ReadDesk,
    query: &EventQuery,
    (id, seq): (EventId, i64),
    reading: &mut Reading,
) -> Result<bool, Failure> {
    if query.body.is_empty() {
        return Ok(true);
    }
    let mut select = desk
        .connection
        .prepare_cached("SELECT body FROM events WHERE seq = ?1")?;
    let mut rows = select.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(false);
    };
    let value = row.get_ref(0)?;
    let body = value
        .as_blob()
        .map_err(|error| Failure::Unreadable(format!("a payload: {error}")))?;
    reading.bodies += 1;
    reading.bytes += body.len() as u64;
    Ok(query.fits_body(id, body))
}

//! Choosing the index for a list: the one likely to yield the fewest events that do not match.

use hapax_core::store::{EventQuery, Has, IndexedValue};
use hapax_core::{DestinationId, ErrorClass, EventId, EventStatus, Identity};
use rusqlite::OptionalExtension;
use rusqlite::types::Value;

use super::Range;
use super::kinds;
use super::trails::{TRAILS_MAX, Trail, Trails};
use crate::desk::find_event;
use crate::failure::Failure;
use crate::forget::earlier;
use crate::look_up::{self, Holder};
use crate::noted::Noted;
use crate::reader::ReadDesk;

/// Scopes tried for a provider's event id.
const SCOPES_MAX: u32 = 10_000;

const ALL: &str = "SELECT seq FROM events WHERE seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

const UNFINISHED: &str =
    "SELECT DISTINCT seq FROM work WHERE seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

// Every finished delivery has an outcome; when most deliveries are still waiting, these are few.
const ENDED: &str =
    "SELECT DISTINCT seq FROM outcomes WHERE seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

const DEAD: &str = "
    SELECT DISTINCT seq FROM outcomes INDEXED BY outcomes_dead
    WHERE current = 1 AND state = 4 AND seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

const DEAD_FOR: &str = "
    SELECT seq FROM outcomes INDEXED BY outcomes_why
    WHERE current = 1 AND state = 4 AND destination = ?4 AND error IS ?5 AND seq >= ?1 AND seq < ?2
    ORDER BY seq DESC LIMIT ?3";

const NOTED: &str =
    "SELECT seq FROM noted WHERE what = ?4 AND seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

const INDEXED: &str = "
    SELECT seq FROM indexed WHERE pointer = ?4 AND digest = ?5 AND seq >= ?1 AND seq < ?2
    ORDER BY seq DESC LIMIT ?3";

/// The trails for a query.
pub(super) fn choose(desk: &mut ReadDesk, query: &EventQuery, range: Range) -> Result<Trails, Failure> {
    if let Some(event_id) = &query.event_id {
        return Ok(Trails::of_rows(range, query.order, named(desk, event_id)?));
    }
    let trails = match query.indexed_value() {
        Some(value) => indexed(desk, &value)?,
        None => beside(desk, query)?,
    };
    Ok(Trails::through(range, query.order, trails))
}

fn beside(desk: &mut ReadDesk, query: &EventQuery) -> Result<Vec<Trail>, Failure> {
    if let Some(error) = query.error
        && let Some(trails) = dead_for(desk, query.to.as_ref(), error)?
    {
        return Ok(trails);
    }
    if let Some(Has::Conflict) = query.has {
        return Ok(vec![noted(Noted::Conflict)]);
    }
    if query.duplicates.is_some_and(|count| count.min > 0) {
        return Ok(vec![noted(Noted::Duplicates)]);
    }
    match query.status {
        Some(EventStatus::Pending | EventStatus::Failed) => return Ok(vec![plain(UNFINISHED)]),
        Some(EventStatus::Dead | EventStatus::Held) => return Ok(vec![plain(DEAD)]),
        Some(EventStatus::Completed | EventStatus::Ignored | EventStatus::Quarantined) | None => {}
    }
    if let Some(trails) = kinds::trails(desk, query)? {
        return Ok(trails);
    }
    let is_ended = query.status == Some(EventStatus::Completed);
    Ok(vec![plain(if is_ended { ENDED } else { ALL })])
}

fn plain(sql: &'static str) -> Trail {
    Trail::new(sql, Vec::new())
}

fn noted(what: Noted) -> Trail {
    Trail::new(NOTED, vec![Value::Integer(what.code())])
}

fn indexed(desk: &mut ReadDesk, value: &IndexedValue) -> Result<Vec<Trail>, Failure> {
    let pointer = desk.names.find(&desk.connection, &value.pointer)?;
    let trail = |pointer| {
        Trail::new(
            INDEXED,
            vec![Value::Integer(pointer), Value::Integer(value.digest)],
        )
    };
    Ok(pointer.map(trail).into_iter().collect())
}

/// Dead letters of one destination or of each, for one reason.
fn dead_for(
    desk: &mut ReadDesk,
    to: Option<&DestinationId>,
    error: ErrorClass,
) -> Result<Option<Vec<Trail>>, Failure> {
    let destinations: Vec<i64> = match to {
        Some(to) => {
            let number = desk.names.find(&desk.connection, to.as_str())?;
            number.into_iter().collect()
        }
        None => dead_destinations(desk)?,
    };
    if destinations.len() > TRAILS_MAX {
        return Ok(None);
    }
    let error = Value::Text(error.as_str().to_owned());
    let of = |destination: i64| Trail::new(DEAD_FOR, vec![Value::Integer(destination), error.clone()]);
    Ok(Some(destinations.into_iter().map(of).collect()))
}

/// The destinations that have dead letters, each found by one step through the index.
fn dead_destinations(desk: &ReadDesk) -> Result<Vec<i64>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination FROM outcomes INDEXED BY outcomes_why
         WHERE current = 1 AND state = 4 AND destination > ?1 ORDER BY destination LIMIT 1",
    )?;
    let mut found = Vec::new();
    let mut after = i64::MIN;
    while found.len() <= TRAILS_MAX {
        let next: Option<i64> = select.query_row([after], |row| row.get(0)).optional()?;
        let Some(destination) = next else {
            break;
        };
        found.push(destination);
        after = destination;
    }
    Ok(found)
}

/// Looks a provider's event id up in the ledger, in every scope, and a Hapax id among the events.
fn named(desk: &mut ReadDesk, event_id: &str) -> Result<Vec<i64>, Failure> {
    let scopes: Vec<i64> = desk
        .connection
        .prepare_cached("SELECT scope FROM tallies WHERE scope > 0 LIMIT ?1")?
        .query_map([SCOPES_MAX], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut ids: Vec<EventId> = event_id.parse().ok().into_iter().collect();
    for scope in scopes {
        let scope = desk.names.named(&desk.connection, scope)?.scope.clone();
        let key = Identity::new(scope, event_id).key();
        ids.extend(earlier(&desk.connection, key)?);
        match look_up::holder_in(desk, key)? {
            Some(Holder::Event(entry)) => ids.push(entry.id),
            Some(Holder::Forgotten { last, .. }) => ids.push(last),
            None => {}
        }
    }
    let mut found = Vec::new();
    for id in ids {
        found.extend(find_event(&desk.connection, id)?);
    }
    Ok(found)
}

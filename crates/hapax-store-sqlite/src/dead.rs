//! Dead letters: finding finished deliveries, and discarding or restoring them.

mod groups;

use hapax_core::store::{Cursor, DeadQuery, DeliveryView, Disposal};
use hapax_core::{DeliveryState, DestinationId, EventId};
use rusqlite::OptionalExtension;

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::lanes;
use crate::reader::ReadDesk;
use crate::rows::{OUTCOME_VIEW, event_id_of, outcome_view, state_code};

pub(crate) use groups::dead_groups;

/// The maximum number of deliveries per page.
const PAGE_MAX: u32 = 1_000;

/// A page of dead or discarded deliveries, the most recently finished first.
pub(crate) fn deliveries(
    desk: &mut ReadDesk,
    query: &DeadQuery,
    after: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<DeliveryView>, Option<Cursor>), Failure> {
    let destination = match &query.destination {
        Some(name) => match desk.names.find(&desk.connection, name.as_str())? {
            Some(number) => Some(number),
            None => return Ok((Vec::new(), None)),
        },
        None => None,
    };
    match query.state {
        DeliveryState::Dead | DeliveryState::Discarded => {}
        // Only deliveries that did not complete are indexed by the time they ended.
        DeliveryState::Completed
        | DeliveryState::Pending
        | DeliveryState::Running
        | DeliveryState::Retrying => return Ok((Vec::new(), None)),
    }
    let limit = limit.min(PAGE_MAX) as usize;
    let before = after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let mut select = desk.connection.prepare_cached(&format!(
        "SELECT {OUTCOME_VIEW}, seq, finished_no FROM outcomes INDEXED BY outcomes_ended
         WHERE current = 1 AND state >= 4 AND state = ?1 AND finished_no < ?2 AND (?3 IS NULL OR destination = ?3)
         ORDER BY finished_no DESC LIMIT ?4"
    ))?;
    let mut rows = select.query((state_code(query.state), before, destination, limit as i64 + 1))?;
    let mut views = Vec::new();
    let mut last = None;
    while let Some(row) = rows.next()? {
        if views.len() == limit {
            return Ok((views, last));
        }
        if let Some(event) = event_id_of(&desk.connection, row.get(10)?)? {
            views.push(outcome_view(&desk.connection, &mut desk.names, event, row)?);
        }
        last = Some(Cursor(row.get::<_, i64>(11)? as u64));
    }
    Ok((views, None))
}

/// Discards or restores deliveries. Returns how many changed.
pub(crate) fn dispose(
    desk: &mut Desk<'_>,
    (deliveries, disposal): &(Vec<(EventId, DestinationId)>, Disposal),
) -> Result<u64, Failure> {
    let mut changed = 0;
    for (event, destination) in deliveries {
        changed += dispose_one(desk, *event, destination, *disposal)?;
    }
    Ok(changed)
}

fn dispose_one(
    desk: &mut Desk<'_>,
    event: EventId,
    destination: &DestinationId,
    disposal: Disposal,
) -> Result<u64, Failure> {
    let Some(destination) = desk.find_name(destination.as_str())? else {
        return Ok(0);
    };
    match find_event(desk.connection, event)? {
        Some(seq) => dispose_row(desk, seq, destination, disposal),
        None => Ok(0),
    }
}

/// Discards or restores the delivery of the event in row `seq`. Returns how many changed.
pub(crate) fn dispose_row(
    desk: &mut Desk<'_>,
    seq: i64,
    destination: i64,
    disposal: Disposal,
) -> Result<u64, Failure> {
    let (from, to) = match disposal {
        Disposal::Discard => (DeliveryState::Dead, DeliveryState::Discarded),
        Disposal::Restore => (DeliveryState::Discarded, DeliveryState::Dead),
    };
    let found: Option<(i64, bool, Option<String>)> = desk
        .connection
        .prepare_cached(
            "SELECT token, holds, lane FROM outcomes
             WHERE seq = ?1 AND destination = ?2 AND current = 1 AND state = ?3",
        )?
        .query_row((seq, destination, state_code(from)), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((token, held, lane)) = found else {
        return Ok(0);
    };
    desk.connection
        .prepare_cached(
            "UPDATE outcomes SET state = ?4, holds = 0 WHERE seq = ?1 AND destination = ?2 AND token = ?3",
        )?
        .execute((seq, destination, token, state_code(to)))?;
    if let (true, Some(lane)) = (held, lane) {
        lanes::promote(desk, destination, &lane)?;
    }
    Ok(1)
}

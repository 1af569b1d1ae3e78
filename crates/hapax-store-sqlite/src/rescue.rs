//! Taking back deliveries whose lease has expired or whose owner is gone.

use hapax_core::store::{LOST_MAX, Rescued};
use hapax_core::{DeliveryState, ErrorClass, Owner, Timestamp};
use rusqlite::{Connection, params};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::outcome::{Ending, conclude};
use crate::rows::{Class, event_id_of, state_code};
use crate::work_row::{WorkRow, work_row};

/// Later than the end of any lease.
const NEVER: Timestamp = Timestamp::from_micros(i64::MAX);

/// Takes back expired leases, at most `limit`.
pub(crate) fn rescue(desk: &mut Desk<'_>, limit: u32) -> Result<Vec<Rescued>, Failure> {
    let rows = running(desk, desk.moment(), None, limit)?;
    take_back(desk, rows)
}

/// Takes back the leases of an owner, at most `limit`, whenever they end.
pub(crate) fn take_back_from(desk: &mut Desk<'_>, owner: Owner, limit: u32) -> Result<Vec<Rescued>, Failure> {
    let rows = running(desk, NEVER, Some(owner), limit)?;
    take_back(desk, rows)
}

/// Takes back every lease: the lock was free, so their process has ended.
pub(crate) fn void_all(desk: &mut Desk<'_>) -> Result<u64, Failure> {
    let rows = running(desk, NEVER, None, u32::MAX)?;
    Ok(take_back(desk, rows)?.len() as u64)
}

fn take_back(desk: &mut Desk<'_>, rows: Vec<WorkRow>) -> Result<Vec<Rescued>, Failure> {
    let mut rescued = Vec::new();
    for row in rows {
        let token = desk.token()?;
        let row = WorkRow {
            lost: row.lost + 1,
            attempts: row.attempts.saturating_sub(1),
            ..row
        };
        if row.lost >= LOST_MAX {
            let now = desk.now();
            conclude(desk, &row, token, Ending::Dead(ErrorClass::Lost), now)?;
        } else {
            desk.connection
                .prepare_cached(
                    "UPDATE work SET state = ?3, class = ?4, wake_at = ?5, token = ?6, attempts = ?7,
                                     lost = ?8, owner = NULL
                     WHERE seq = ?1 AND destination = ?2",
                )?
                .execute(params![
                    row.seq,
                    row.destination,
                    state_code(DeliveryState::waiting(row.attempts)),
                    Class::Suspect.code(),
                    desk.moment().as_micros(),
                    token.0 as i64,
                    row.attempts,
                    row.lost,
                ])?;
        }
        let event = event_id_of(desk.connection, row.seq)?.ok_or_else(|| {
            Failure::Unreadable(format!(
                "a running delivery refers to no event at row {}",
                row.seq
            ))
        })?;
        let named = desk.state.names.named(desk.connection, row.destination)?;
        rescued.push(Rescued {
            event,
            destination: named.destination.clone(),
            attempt: row.attempts + 1,
            lost: row.lost,
        });
    }
    Ok(rescued)
}

/// Destinations with unfinished deliveries. Skips through the index by destination, of which there are few, so that the
/// backlog is never read.
pub(crate) fn destinations(connection: &Connection) -> Result<Vec<i64>, Failure> {
    let mut select = connection.prepare_cached(
        "WITH RECURSIVE found (destination) AS (
             SELECT min(destination) FROM work
             UNION ALL
             SELECT (SELECT min(destination) FROM work INDEXED BY work_due WHERE destination > found.destination)
             FROM found WHERE found.destination IS NOT NULL
         )
         SELECT destination FROM found WHERE destination IS NOT NULL",
    )?;
    let found = select.query_map([], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Running rows whose lease ends before `before`, of one owner or of all.
fn running(
    desk: &Desk<'_>,
    before: Timestamp,
    owner: Option<Owner>,
    limit: u32,
) -> Result<Vec<WorkRow>, Failure> {
    let mut select = desk.connection.prepare_cached(concat!(
        "SELECT ",
        work_row!(),
        " FROM work INDEXED BY work_due
          WHERE destination = ?1 AND class = 1 AND wake_at < ?2 AND (?4 IS NULL OR owner = ?4)
          ORDER BY wake_at LIMIT ?3"
    ))?;
    let mut found = Vec::new();
    for destination in destinations(desk.connection)? {
        let room = i64::from(limit) - found.len() as i64;
        if room <= 0 {
            break;
        }
        let owner = owner.map(|owner| owner.0 as i64);
        let mut rows = select.query((destination, before.as_micros(), room, owner))?;
        while let Some(row) = rows.next()? {
            found.push(WorkRow::read(row)?);
        }
    }
    Ok(found)
}

//! Leasing due deliveries of one destination, the longest due first.

use hapax_core::store::{Candidates, LeaseBatch, LeaseOrder};
use hapax_core::{Generation, IdempotencyKey, Leased, Timestamp};
use rusqlite::params;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::rows::{Class, lane_of, read_event};
use crate::work_row::{WorkRow, work_row};

/// The maximum number of deliveries leased per call, whatever the caller asks for: each loads its payload into memory.
const LEASE_MAX: u32 = 1_024;
/// Payload bytes after which a call leases no more; the remaining deliveries stay due.
const LEASE_BYTES_MAX: usize = 16 << 20;

/// Leases due deliveries.
pub(crate) fn lease(desk: &mut Desk<'_>, order: &LeaseOrder) -> Result<LeaseBatch, Failure> {
    let Some(destination) = desk.find_name(order.destination.as_str())? else {
        return Ok(LeaseBatch::default());
    };
    if crate::pauses::is_paused(desk, destination)? {
        return Ok(LeaseBatch::default());
    }
    let class = match order.candidates {
        Candidates::Fresh => Class::Fresh,
        Candidates::Suspect => Class::Suspect,
    };
    let mut leased = Vec::new();
    let mut bytes = 0;
    for row in due(desk, destination, class, order.limit)? {
        let taken = take(desk, &row, order)?;
        bytes += taken.event.body.len() + taken.event.headers.as_bytes().len();
        leased.push(taken);
        if bytes >= LEASE_BYTES_MAX {
            break;
        }
    }
    let next_due = next_due(desk, destination, class)?;
    Ok(LeaseBatch { leased, next_due })
}

fn due(desk: &Desk<'_>, destination: i64, class: Class, limit: u32) -> Result<Vec<WorkRow>, Failure> {
    let mut select = desk.connection.prepare_cached(concat!(
        "SELECT ",
        work_row!(),
        " FROM work INDEXED BY work_due WHERE destination = ?1 AND class = ?2 AND wake_at <= ?3
          ORDER BY wake_at, seq LIMIT ?4"
    ))?;
    let now = desk.moment().as_micros();
    let mut rows = select.query((destination, class.code(), now, limit.min(LEASE_MAX)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(WorkRow::read(row)?);
    }
    Ok(found)
}

fn take(desk: &mut Desk<'_>, row: &WorkRow, order: &LeaseOrder) -> Result<Leased, Failure> {
    let event = read_event(desk.connection, &mut desk.state.names, row.seq)?.ok_or_else(|| {
        Failure::Unreadable(format!(
            "an unfinished delivery refers to event {}, which does not exist",
            row.seq
        ))
    })?;
    let token = desk.token()?;
    let lease_until = desk.moment().plus(order.lease_for);
    let attempt = row.attempts + 1;
    desk.connection
        .prepare_cached(
            "UPDATE work SET state = 1, class = ?3, wake_at = ?4, token = ?5, attempts = ?6, owner = ?7
             WHERE seq = ?1 AND destination = ?2",
        )?
        .execute(params![
            row.seq,
            row.destination,
            Class::Running.code(),
            lease_until.as_micros(),
            token.0 as i64,
            attempt,
            order.owner.0 as i64,
        ])?;
    Ok(Leased {
        event,
        destination: order.destination.clone(),
        token,
        lease_until,
        generation: Generation(row.generation),
        idempotency_key: IdempotencyKey::from_bytes(row.idempotency_key),
        attempt,
        lost: row.lost,
        lane: lane_of(row.lane.clone(), row.on_dead),
    })
}

fn next_due(desk: &Desk<'_>, destination: i64, class: Class) -> Result<Option<Timestamp>, Failure> {
    let next: Option<i64> = desk
        .connection
        .prepare_cached("SELECT min(wake_at) FROM work WHERE destination = ?1 AND class = ?2")?
        .query_row((destination, class.code()), |row| row.get(0))?;
    Ok(next.map(Timestamp::from_micros))
}

//! Recording the results of attempts, each only while its lease is held.

use hapax_core::store::{Report, Written};
use hapax_core::{Attempt, AttemptOutcome, DeliveryState, EventId, Hold};
use rusqlite::params;

use crate::desk::{Desk, PROBES};
use crate::failure::Failure;
use crate::outcome::{Ending, conclude};
use crate::rows::{Class, state_code};
use crate::work_row::WorkRow;

pub(crate) fn finish(desk: &mut Desk<'_>, reports: &[Report]) -> Result<Vec<Written>, Failure> {
    reports.iter().map(|report| finish_one(desk, report)).collect()
}

/// The row that runs under a lease, if it still does. Tokens are unique in the store, so a neighbour whose id has the
/// same order is never mistaken for it.
pub(crate) fn held(desk: &mut Desk<'_>, hold: &Hold) -> Result<Option<WorkRow>, Failure> {
    let Some(destination) = desk.find_name(hold.destination.as_str())? else {
        return Ok(None);
    };
    let order = EventId::order(&hold.event) as i64;
    let statement = &mut desk.hot.select_running;
    let mut rows = statement.query((
        order,
        order.saturating_add(PROBES),
        destination,
        hold.token.0 as i64,
    ))?;
    rows.next()?.map(WorkRow::read).transpose()
}

fn finish_one(desk: &mut Desk<'_>, report: &Report) -> Result<Written, Failure> {
    let Some(row) = held(desk, &report.hold)? else {
        return Ok(Written::LeaseLost);
    };
    let now = desk.now();
    if let Some(attempt) = &report.attempt {
        keep(desk, &row, attempt)?;
    }
    match report.outcome {
        AttemptOutcome::Completed => conclude(desk, &row, report.hold.token, Ending::Completed, now)?,
        AttemptOutcome::Dead { reason } => {
            conclude(desk, &row, report.hold.token, Ending::Dead(reason), now)?;
        }
        AttemptOutcome::Retry { after } => {
            let due_at = desk.moment().plus(after).as_micros();
            put_back(desk, &row, row.attempts, due_at)?;
        }
        AttemptOutcome::Release => {
            let attempts = row.attempts.saturating_sub(1);
            let accepted_at: i64 = desk
                .connection
                .prepare_cached("SELECT accepted_at FROM events WHERE seq = ?1")?
                .query_row([row.seq], |row| row.get(0))?;
            // `accepted_at` is wall-clock time, which may have been set; the delivery is due now in any case.
            let due_at = accepted_at.min(desk.moment().as_micros());
            put_back(desk, &row, attempts, due_at)?;
        }
    }
    Ok(Written::Applied)
}

fn keep(desk: &mut Desk<'_>, row: &WorkRow, attempt: &Attempt) -> Result<(), Failure> {
    let no = desk.number()?;
    desk.hot.insert_attempt.execute(params![
        row.seq,
        no,
        row.destination,
        row.token,
        row.generation,
        attempt.started_at.as_micros(),
        attempt.duration_ms,
        attempt.status,
        attempt.error.map(hapax_core::ErrorClass::as_str),
        attempt.excerpt,
        attempt.message,
    ])?;
    Ok(())
}

fn put_back(desk: &mut Desk<'_>, row: &WorkRow, attempts: u32, wake_at: i64) -> Result<(), Failure> {
    desk.connection
        .prepare_cached(
            "UPDATE work SET state = ?3, class = ?4, wake_at = ?5, attempts = ?6, owner = NULL
             WHERE seq = ?1 AND destination = ?2",
        )?
        .execute(params![
            row.seq,
            row.destination,
            state_code(DeliveryState::waiting(attempts)),
            Class::due(row.lost).code(),
            wake_at,
            attempts,
        ])?;
    Ok(())
}

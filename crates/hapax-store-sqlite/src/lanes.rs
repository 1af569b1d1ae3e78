//! Lanes: deliveries of one destination and key that run one at a time, in order of acceptance.
//!
//! The order is a number from the store-wide sequence, drawn when the event was accepted; a replay keeps it. Only one
//! delivery is due or running; the others wait. A dead head that holds its lane is no longer among the unfinished
//! deliveries, but its outcome records the hold, and nothing is promoted past it.

use hapax_core::DeliveryState;
use rusqlite::OptionalExtension;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::rows::{Class, state_code};

/// Whether a lane is occupied, so that a new delivery waits.
pub(crate) fn is_taken(desk: &mut Desk<'_>, destination: i64, lane: &str) -> Result<bool, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM work WHERE destination = ?1 AND lane = ?2)
             OR EXISTS (SELECT 1 FROM outcomes WHERE holds = 1 AND destination = ?1 AND lane = ?2)",
    )?;
    Ok(select.query_row((destination, lane), |row| row.get(0))?)
}

/// Gives the turn to the first delivery of a lane, unless a dead delivery before it holds the lane, or another delivery
/// has the turn and has been attempted. A delivery that is due but was never attempted gives way.
pub(crate) fn promote(desk: &mut Desk<'_>, destination: i64, lane: &str) -> Result<(), Failure> {
    let head = desk
        .connection
        .prepare_cached(
            "SELECT seq, class, lost FROM work
             WHERE destination = ?1 AND lane = ?2
               AND lane_order < (SELECT ifnull(min(lane_order), 9223372036854775807) FROM outcomes
                                 WHERE holds = 1 AND destination = ?1 AND lane = ?2)
             ORDER BY lane_order LIMIT 1",
        )?
        .query_row((destination, lane), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((seq, class, lost)): Option<(i64, i64, u32)> = head else {
        return Ok(());
    };
    if class != Class::Waiting.code() || !gives_way(desk, destination, lane)? {
        return Ok(());
    }
    change(desk, (seq, destination), Class::due(lost))
}

/// Takes the turn from the delivery that has it, unless that one is running or waits for a retry.
fn gives_way(desk: &mut Desk<'_>, destination: i64, lane: &str) -> Result<bool, Failure> {
    let turn: Option<(i64, i64)> = desk
        .connection
        .prepare_cached(
            "SELECT seq, state FROM work INDEXED BY work_turn
             WHERE destination = ?1 AND lane = ?2 AND lane IS NOT NULL AND class <> 3",
        )?
        .query_row((destination, lane), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match turn {
        None => Ok(true),
        Some((seq, state)) if state == state_code(DeliveryState::Pending) => {
            change(desk, (seq, destination), Class::Waiting)?;
            Ok(true)
        }
        Some(_) => Ok(false),
    }
}

fn change(desk: &mut Desk<'_>, (seq, destination): (i64, i64), class: Class) -> Result<(), Failure> {
    let now = desk.moment().as_micros();
    desk.connection
        .prepare_cached("UPDATE work SET class = ?3, wake_at = ?4 WHERE seq = ?1 AND destination = ?2")?
        .execute((seq, destination, class.code(), now))?;
    Ok(())
}

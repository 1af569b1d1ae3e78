//! How an unfinished delivery becomes an outcome, whatever ended it.

use hapax_core::{DeliveryState, ErrorClass, Timestamp, Token};
use rusqlite::params;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::lanes;
use crate::rows::state_code;
use crate::work_row::WorkRow;

/// How a delivery ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    Completed,
    Dead(ErrorClass),
    /// Dead from the start because of its event's body; it was never in its lane.
    Held,
    Discarded,
}

/// Removes a delivery from the unfinished ones, stores its outcome, and lets its lane continue where possible. If a
/// dead delivery holds its lane, only replays in front of it continue.
pub(crate) fn conclude(
    desk: &mut Desk<'_>,
    row: &WorkRow,
    token: Token,
    ending: Ending,
    now: Timestamp,
) -> Result<(), Failure> {
    desk.hot.delete_work.execute((row.seq, row.destination))?;
    let (state, error, holds) = match ending {
        Ending::Completed => (DeliveryState::Completed, None, false),
        Ending::Dead(class) => (DeliveryState::Dead, Some(class.as_str()), row.holds_when_dead()),
        Ending::Held => (DeliveryState::Dead, Some(ErrorClass::SameBody.as_str()), false),
        Ending::Discarded => (DeliveryState::Discarded, None, false),
    };
    let finished_no = desk.number()?;
    desk.hot.insert_outcome.execute(params![
        row.seq,
        row.destination,
        token.0 as i64,
        state_code(state),
        holds,
        row.attempts,
        row.lost,
        now.as_micros(),
        finished_no,
        error,
        row.generation,
        row.idempotency_key,
        row.lane,
        row.lane_order,
        row.on_dead,
        row.replay,
    ])?;
    match &row.lane {
        Some(lane) => lanes::promote(desk, row.destination, lane),
        None => Ok(()),
    }
}

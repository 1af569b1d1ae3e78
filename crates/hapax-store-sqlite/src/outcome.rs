//! How an unfinished delivery becomes an outcome, whatever ended it.

use hapax_core::{DeliveryState, ErrorClass, OnDead, Timestamp, Token};
use rusqlite::{Row, params};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::lanes;
use crate::rows::{bytes_at, on_dead_code, optional_bytes_at, state_code};

pub(crate) const DELETE_WORK: &str = "DELETE FROM work WHERE seq = ?1 AND destination = ?2";

pub(crate) const INSERT_OUTCOME: &str = "
    INSERT INTO outcomes (seq, destination, token, state, current, holds, attempts, lost, finished_at, finished_no,
                          error, generation, idempotency_key, lane, lane_order, on_dead, replay)
    VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";

/// The columns that [`WorkRow::read`] reads.
macro_rules! work_row {
    () => {
        "seq, destination, token, attempts, lost, generation, idempotency_key, lane, lane_order, on_dead, replay"
    };
}
pub(crate) use work_row;

/// A delivery's row as it moves between tables.
#[derive(Debug)]
pub(crate) struct WorkRow {
    pub(crate) seq: i64,
    pub(crate) destination: i64,
    pub(crate) token: i64,
    pub(crate) attempts: u32,
    pub(crate) lost: u32,
    pub(crate) generation: u32,
    pub(crate) idempotency_key: [u8; 16],
    pub(crate) lane: Option<String>,
    pub(crate) lane_order: Option<i64>,
    pub(crate) on_dead: Option<i64>,
    pub(crate) replay: Option<[u8; 16]>,
}

impl WorkRow {
    pub(crate) fn read(row: &Row<'_>) -> Result<Self, Failure> {
        Ok(Self {
            seq: row.get(0)?,
            destination: row.get(1)?,
            token: row.get(2)?,
            attempts: row.get(3)?,
            lost: row.get(4)?,
            generation: row.get(5)?,
            idempotency_key: bytes_at(row, 6)?,
            lane: row.get(7)?,
            lane_order: row.get(8)?,
            on_dead: row.get(9)?,
            replay: optional_bytes_at(row, 10)?,
        })
    }

    /// Whether it blocks its lane when it dies.
    fn holds_when_dead(&self) -> bool {
        self.lane.is_some() && self.on_dead == Some(on_dead_code(OnDead::Hold))
    }
}

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

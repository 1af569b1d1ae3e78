//! The row of an unfinished delivery.

use hapax_core::OnDead;
use rusqlite::Row;

use crate::failure::Failure;
use crate::rows::{bytes_at, on_dead_code, optional_bytes_at};

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
    pub(crate) fn holds_when_dead(&self) -> bool {
        self.lane.is_some() && self.on_dead == Some(on_dead_code(OnDead::Hold))
    }
}

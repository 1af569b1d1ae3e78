//! The time that decides when deliveries are due, carried from one process to the next.
//!
//! A process uses the wall clock as it was at start. If that clock was ahead and has since been corrected, deliveries
//! the process left waiting would be due only when the corrected clock catches up. So the time is stored along with
//! each write, and the next process moves waiting deliveries back by the amount its own clock is behind.

use std::time::Duration;

use hapax_core::{DeliveryState, Timestamp};
use rusqlite::OptionalExtension;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::rescue;
use crate::rows::{Class, state_code};

/// The stored time is at most this old when something is written: retries may wait this much longer.
const KEEP_EVERY: Duration = Duration::from_secs(1);

/// Stores the time, unless it was stored recently.
pub(crate) fn keep(desk: &mut Desk<'_>) -> Result<(), Failure> {
    let now = desk.moment();
    let is_recent = |kept: Timestamp| now.since(kept) < KEEP_EVERY;
    if desk.state.moment_kept.is_some_and(is_recent) {
        return Ok(());
    }
    desk.connection
        .prepare_cached(
            "INSERT INTO meta (key, value) VALUES ('moment', ?1)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        )?
        .execute([now.as_micros()])?;
    desk.state.moment_kept = Some(now);
    Ok(())
}

/// Moves waiting deliveries back if the last process used a clock that was ahead of ours. Returns how many. Retries
/// keep their remaining time. Pending deliveries never wait: a file from an earlier version does not record the clock
/// it was written by.
pub(crate) fn put_right(desk: &mut Desk<'_>) -> Result<usize, Failure> {
    let now = desk.moment().as_micros();
    let kept: Option<i64> = desk
        .connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'moment'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let ahead = kept.map_or(0, |kept| (kept - now).max(0));
    let mut moved = 0;
    for destination in rescue::destinations(desk.connection)? {
        for class in [Class::Fresh, Class::Suspect] {
            moved += desk
                .connection
                .prepare_cached(
                    "UPDATE work INDEXED BY work_due
                     SET wake_at = CASE state WHEN ?5 THEN min(wake_at - ?4, ?3) ELSE wake_at - ?4 END
                     WHERE destination = ?1 AND class = ?2 AND wake_at > ?3 AND (?4 > 0 OR state = ?5)",
                )?
                .execute((
                    destination,
                    class.code(),
                    now,
                    ahead,
                    state_code(DeliveryState::Pending),
                ))?;
        }
    }
    Ok(moved)
}

//! Lanes: deliveries of one destination and key that run one at a time, in order of acceptance.
//!
//! The order is a number of the store-wide sequence, so it is never used twice. Only the head is
//! due; the others wait. A dead head that holds its lane has left the work, but its outcome says
//! so, and nothing is promoted past it.

use rusqlite::OptionalExtension;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::rows::Class;

/// Where a delivery that joins a lane comes to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing is before it.
    Head,
    /// It waits.
    Behind,
}

/// The place of one that joins the tail.
pub(crate) fn place(desk: &mut Desk<'_>, destination: i64, lane: &str) -> Result<Place, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM work WHERE destination = ?1 AND lane = ?2)
             OR EXISTS (SELECT 1 FROM outcomes WHERE holds = 1 AND destination = ?1 AND lane = ?2)",
    )?;
    let taken: bool = select.query_row((destination, lane), |row| row.get(0))?;
    Ok(if taken { Place::Behind } else { Place::Head })
}

/// Makes the next in a lane due, unless a dead head holds it or the head is due or running already.
pub(crate) fn promote(desk: &mut Desk<'_>, destination: i64, lane: &str) -> Result<(), Failure> {
    let blocked: bool = desk
        .connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM outcomes WHERE holds = 1 AND destination = ?1 AND lane = ?2)",
        )?
        .query_row((destination, lane), |row| row.get(0))?;
    if blocked {
        return Ok(());
    }
    let head: Option<(i64, i64, u32)> = desk
        .connection
        .prepare_cached(
            "SELECT seq, class, lost FROM work
             WHERE destination = ?1 AND lane = ?2 ORDER BY lane_order LIMIT 1",
        )?
        .query_row((destination, lane), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((seq, class, lost)) = head else {
        return Ok(());
    };
    if class == Class::Waiting.code() {
        desk.connection
            .prepare_cached("UPDATE work SET class = ?3, wake_at = ?4 WHERE seq = ?1 AND destination = ?2")?
            .execute((
                seq,
                destination,
                Class::due(lost).code(),
                desk.moment().as_micros(),
            ))?;
    }
    Ok(())
}

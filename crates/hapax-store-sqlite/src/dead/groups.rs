//! Dead letters by destination and error, read from one covering index: the cost follows the number of dead letters.

use hapax_core::store::DeadGroup;
use rusqlite::OptionalExtension;

use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::{error_at, event_id_of, time_at};

/// The maximum number of groups in one answer.
const GROUPS_MAX: u32 = 1_000;

/// The groups, largest first.
pub(crate) fn dead_groups(desk: &mut ReadDesk, limit: u32) -> Result<Vec<DeadGroup>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination, error, count, first_at, last_at, last_no
         FROM (SELECT destination, error, count(*) AS count, min(finished_at) AS first_at,
                      max(finished_at) AS last_at, max(finished_no) AS last_no
               FROM outcomes INDEXED BY outcomes_why WHERE current = 1 AND state = 4
               GROUP BY destination, error)
         JOIN names ON names.no = destination ORDER BY count DESC, names.name, error LIMIT ?1",
    )?;
    let mut rows = select.query([limit.min(GROUPS_MAX)])?;
    let mut groups = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(seq) = last(desk, row.get(5)?)? else {
            continue;
        };
        let Some(last) = event_id_of(&desk.connection, seq)? else {
            continue;
        };
        groups.push(DeadGroup {
            destination: desk
                .names
                .named(&desk.connection, row.get(0)?)?
                .destination
                .clone(),
            error: error_at(row, 1)?,
            count: row.get::<_, i64>(2)? as u64,
            first_at: time_at(row, 3)?,
            last_at: time_at(row, 4)?,
            last,
        });
    }
    Ok(groups)
}

/// The row of the event whose delivery was the last of a group to end.
fn last(desk: &ReadDesk, finished_no: i64) -> Result<Option<i64>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT seq FROM outcomes INDEXED BY outcomes_ended
         WHERE current = 1 AND state >= 4 AND state = 4 AND finished_no = ?1",
    )?;
    Ok(select.query_row([finished_no], |row| row.get(0)).optional()?)
}

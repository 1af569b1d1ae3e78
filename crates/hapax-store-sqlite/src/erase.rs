//! Erasing events: their contents are deleted at once and overwritten on disk.

use hapax_core::store::{Disposal, Erased, Unfinished};
use hapax_core::{EventId, Headers};

use crate::dead::dispose_row;
use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::outcome::{Ending, conclude};
use crate::work_row::{WorkRow, work_row};

/// Erases events independently of each other.
pub(crate) fn erase(
    desk: &mut Desk<'_>,
    (events, unfinished): &(Vec<EventId>, Unfinished),
) -> Result<Vec<Erased>, Failure> {
    overwrite(desk, true)?;
    let erased = events
        .iter()
        .map(|event| erase_one(desk, *event, *unfinished))
        .collect();
    overwrite(desk, false)?;
    erased
}

/// Makes SQLite overwrite deleted content with zeroes, which is too expensive to leave on.
pub(crate) fn overwrite(desk: &Desk<'_>, is_on: bool) -> Result<(), Failure> {
    desk.connection.pragma_update(None, "secure_delete", is_on)?;
    Ok(())
}

fn erase_one(desk: &mut Desk<'_>, event: EventId, unfinished: Unfinished) -> Result<Erased, Failure> {
    let Some(seq) = find_event(desk.connection, event)? else {
        return Ok(Erased::NotFound);
    };
    let work = work(desk, seq)?;
    if !work.is_empty() && unfinished == Unfinished::Keep {
        return Ok(Erased::Unfinished);
    }
    for row in &work {
        // A new token: the process that runs the delivery no longer holds it.
        let token = desk.token()?;
        let now = desk.now();
        conclude(desk, row, token, Ending::Discarded, now)?;
    }
    let buried = discard_dead(desk, seq)?;
    let erased = Headers::erased();
    let changed = desk
        .connection
        .prepare_cached("UPDATE events SET headers = ?2, body = x'' WHERE seq = ?1 AND headers <> ?2")?
        .execute((seq, erased.as_bytes()))?;
    for sql in [
        "UPDATE attempts SET excerpt = '', message = NULL WHERE seq = ?1",
        "DELETE FROM indexed WHERE seq = ?1",
        "DELETE FROM noted WHERE what = 1 AND seq = ?1",
    ] {
        desk.connection.prepare_cached(sql)?.execute([seq])?;
    }
    desk.connection
        .prepare_cached("DELETE FROM conflicts WHERE first = ?1")?
        .execute([event.as_bytes()])?;
    if changed == 0 {
        return Ok(Erased::Before);
    }
    let discarded = work.len() as u64 + buried;
    Ok(Erased::Now {
        discarded: u32::try_from(discarded).unwrap_or(u32::MAX),
    })
}

fn work(desk: &Desk<'_>, seq: i64) -> Result<Vec<WorkRow>, Failure> {
    let mut select =
        desk.connection
            .prepare_cached(concat!("SELECT ", work_row!(), " FROM work WHERE seq = ?1"))?;
    let mut rows = select.query([seq])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(WorkRow::read(row)?);
    }
    Ok(found)
}

/// Discards the dead letters of the event in row `seq`. Returns how many.
fn discard_dead(desk: &mut Desk<'_>, seq: i64) -> Result<u64, Failure> {
    let destinations: Vec<i64> = desk
        .connection
        .prepare_cached("SELECT destination FROM outcomes WHERE seq = ?1 AND current = 1 AND state = 4")?
        .query_map([seq], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut discarded = 0;
    for destination in destinations {
        discarded += dispose_row(desk, seq, destination, Disposal::Discard)?;
    }
    Ok(discarded)
}

//! Paused destinations. The writer caches them, since every lease checks them.

use std::collections::HashSet;

use hapax_core::DestinationId;
use hapax_core::store::Pause;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Pauses a destination, or updates the reason.
pub(crate) fn pause(desk: &mut Desk<'_>, pause: &Pause) -> Result<(), Failure> {
    let destination = desk.intern(pause.destination.as_str())?;
    desk.connection
        .prepare_cached("INSERT OR REPLACE INTO pauses (destination, at, by, why) VALUES (?1, ?2, ?3, ?4)")?
        .execute((destination, pause.at.as_micros(), &pause.by, &pause.why))?;
    desk.state.paused = None;
    Ok(())
}

/// Resumes a destination. Returns whether it was paused.
pub(crate) fn resume(desk: &mut Desk<'_>, destination: &DestinationId) -> Result<bool, Failure> {
    let Some(destination) = desk.find_name(destination.as_str())? else {
        return Ok(false);
    };
    let resumed = desk
        .connection
        .prepare_cached("DELETE FROM pauses WHERE destination = ?1")?
        .execute([destination])?;
    desk.state.paused = None;
    Ok(resumed == 1)
}

/// Whether a destination is paused.
pub(crate) fn is_paused(desk: &mut Desk<'_>, destination: i64) -> Result<bool, Failure> {
    if let Some(paused) = &desk.state.paused {
        return Ok(paused.contains(&destination));
    }
    let mut select = desk.connection.prepare_cached("SELECT destination FROM pauses")?;
    let paused: HashSet<i64> = select
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let answer = paused.contains(&destination);
    desk.state.paused = Some(paused);
    Ok(answer)
}

/// Every pause, by name.
pub(crate) fn pauses(desk: &mut ReadDesk) -> Result<Vec<Pause>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT destination, at, by, why FROM pauses")?;
    let mut rows = select.query([])?;
    let mut pauses = Vec::new();
    while let Some(row) = rows.next()? {
        pauses.push(Pause {
            destination: desk
                .names
                .named(&desk.connection, row.get(0)?)?
                .destination
                .clone(),
            at: time_at(row, 1)?,
            by: row.get(2)?,
            why: row.get(3)?,
        });
    }
    pauses.sort_by(|one, other| one.destination.cmp(&other.destination));
    Ok(pauses)
}

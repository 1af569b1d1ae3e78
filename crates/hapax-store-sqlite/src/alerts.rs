//! Alert state: small values by name, replaced by compare-and-swap.

use hapax_core::store::{ALERTS_MAX, AlertState, KEYRING_NAME};
use rusqlite::OptionalExtension;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;

/// The alert's name, the expected value, and the new value.
pub(crate) type Swap = (String, Option<Vec<u8>>, Option<Vec<u8>>);

/// Replaces one value with another and returns whether it did. With a single writer, nothing can come in between.
pub(crate) fn swap(desk: &mut Desk<'_>, (name, before, after): &Swap) -> Result<bool, Failure> {
    let found: Option<Vec<u8>> = desk
        .connection
        .prepare_cached("SELECT value FROM alerts WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    if found != *before {
        return Ok(false);
    }
    match (before, after) {
        (None, Some(_)) if is_full(desk)? => return Ok(false),
        (_, Some(after)) => desk
            .connection
            .prepare_cached("INSERT OR REPLACE INTO alerts (name, value) VALUES (?1, ?2)")?
            .execute((name, after))?,
        (_, None) => desk
            .connection
            .prepare_cached("DELETE FROM alerts WHERE name = ?1")?
            .execute([name])?,
    };
    Ok(true)
}

/// The state of every alert, by name.
pub(crate) fn list(desk: &mut ReadDesk) -> Result<Vec<AlertState>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT name, value FROM alerts ORDER BY name")?;
    let mut rows = select.query([])?;
    let mut alerts = Vec::new();
    while let Some(row) = rows.next()? {
        alerts.push(AlertState {
            name: row.get(0)?,
            value: row.get(1)?,
        });
    }
    Ok(alerts)
}

fn is_full(desk: &Desk<'_>) -> Result<bool, Failure> {
    let kept: i64 = desk
        .connection
        .prepare_cached("SELECT count(*) FROM alerts WHERE name <> ?1")?
        .query_row([KEYRING_NAME], |row| row.get(0))?;
    Ok(kept >= ALERTS_MAX as i64)
}

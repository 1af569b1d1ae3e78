//! Saved views: queries with names.

use hapax_core::store::{SAVED_VIEWS_MAX, SavedView};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Keeps a view, instead of what has its name; whether there was room.
pub(crate) fn put(desk: &mut Desk<'_>, view: &SavedView) -> Result<bool, Failure> {
    let others: i64 = desk
        .connection
        .prepare_cached("SELECT count(*) FROM views WHERE name <> ?1")?
        .query_row([&view.name], |row| row.get(0))?;
    if others >= SAVED_VIEWS_MAX as i64 {
        return Ok(false);
    }
    desk.connection
        .prepare_cached("INSERT OR REPLACE INTO views (name, query, by, at) VALUES (?1, ?2, ?3, ?4)")?
        .execute((&view.name, &view.query, &view.by, view.at.as_micros()))?;
    Ok(true)
}

/// Deletes a view; whether there was one.
pub(crate) fn delete(desk: &mut Desk<'_>, name: &String) -> Result<bool, Failure> {
    let deleted = desk
        .connection
        .prepare_cached("DELETE FROM views WHERE name = ?1")?
        .execute([name])?;
    Ok(deleted == 1)
}

/// Every view, by name.
pub(crate) fn list(desk: &mut ReadDesk) -> Result<Vec<SavedView>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT name, query, by, at FROM views ORDER BY name")?;
    let mut rows = select.query([])?;
    let mut views = Vec::new();
    while let Some(row) = rows.next()? {
        views.push(SavedView {
            name: row.get(0)?,
            query: row.get(1)?,
            by: row.get(2)?,
            at: time_at(row, 3)?,
        });
    }
    Ok(views)
}

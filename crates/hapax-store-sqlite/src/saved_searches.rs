//! Saved searches: queries with names.

use hapax_core::store::{SAVED_SEARCHES_MAX, SavedSearch};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::time_at;

/// Stores a search, replacing any with the same name. Returns whether there was room.
pub(crate) fn put(desk: &mut Desk<'_>, search: &SavedSearch) -> Result<bool, Failure> {
    let others: i64 = desk
        .connection
        .prepare_cached("SELECT count(*) FROM views WHERE name <> ?1")?
        .query_row([&search.name], |row| row.get(0))?;
    if others >= SAVED_SEARCHES_MAX as i64 {
        return Ok(false);
    }
    desk.connection
        .prepare_cached("INSERT OR REPLACE INTO views (name, query, by, at) VALUES (?1, ?2, ?3, ?4)")?
        .execute((&search.name, &search.query, &search.by, search.at.as_micros()))?;
    Ok(true)
}

/// Deletes a search. Returns whether there was one.
pub(crate) fn delete(desk: &mut Desk<'_>, name: &String) -> Result<bool, Failure> {
    let deleted = desk
        .connection
        .prepare_cached("DELETE FROM views WHERE name = ?1")?
        .execute([name])?;
    Ok(deleted == 1)
}

/// Every search, by name.
pub(crate) fn list(desk: &mut ReadDesk) -> Result<Vec<SavedSearch>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT name, query, by, at FROM views ORDER BY name")?;
    let mut rows = select.query([])?;
    let mut saved_searches = Vec::new();
    while let Some(row) = rows.next()? {
        saved_searches.push(SavedSearch {
            name: row.get(0)?,
            query: row.get(1)?,
            by: row.get(2)?,
            at: time_at(row, 3)?,
        });
    }
    Ok(saved_searches)
}

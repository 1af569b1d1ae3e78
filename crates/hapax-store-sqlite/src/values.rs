//! Small values with names, in one table per kind of space. Saved searches have a column for each of their parts.

use hapax_core::store::{NamedValue, SavedSearch, Swapped, ValueSpace, ValueSwap};
use hapax_core::{SourceName, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::reader::ReadDesk;

/// Replaces a value if it is as expected. With a single writer, nothing can come in between.
pub(crate) fn swap(desk: &mut Desk<'_>, swap: &ValueSwap) -> Result<Swapped, Failure> {
    let found = find(desk.connection, &swap.space, &swap.name)?;
    if !swap.expected.is_met_by(found.as_deref()) {
        return Ok(Swapped::Differs);
    }
    if swap.may_add() && swap.space.limit().is_some() {
        let kept = list(desk.connection, &swap.space)?;
        if !swap.has_room(kept.iter().map(|kept| kept.name.as_str())) {
            return Ok(Swapped::Full);
        }
    }
    delete(desk.connection, &swap.space, &swap.name)?;
    if let Some(put) = &swap.put {
        insert(desk.connection, &swap.space, put)?;
    }
    Ok(Swapped::Done)
}

/// The value with a name.
pub(crate) fn value(desk: &mut ReadDesk, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    find(&desk.connection, space, name)
}

/// All values of a space, by name.
pub(crate) fn values(desk: &mut ReadDesk, space: &ValueSpace) -> Result<Vec<NamedValue>, Failure> {
    list(&desk.connection, space)
}

/// The sources that have values.
pub(crate) fn sources(desk: &mut ReadDesk) -> Result<Vec<SourceName>, Failure> {
    let mut select = desk
        .connection
        .prepare_cached("SELECT DISTINCT source FROM source_states ORDER BY source")?;
    let rows = select.query_map([], |row| row.get::<_, String>(0))?;
    rows.map(|source| Ok(SourceName::from(source?))).collect()
}

fn find(connection: &Connection, space: &ValueSpace, name: &str) -> Result<Option<Vec<u8>>, Failure> {
    let found = match space {
        ValueSpace::SavedSearches => connection
            .prepare_cached("SELECT name, query, by, at FROM views WHERE name = ?1")?
            .query_row([name], search_at),
        ValueSpace::Alerts => connection
            .prepare_cached("SELECT name, value FROM alerts WHERE name = ?1")?
            .query_row([name], value_at),
        ValueSpace::Source(source) => connection
            .prepare_cached("SELECT name, value FROM source_states WHERE source = ?1 AND name = ?2")?
            .query_row([source.as_str(), name], value_at),
    };
    Ok(found.optional()?.map(|found| found.value))
}

fn list(connection: &Connection, space: &ValueSpace) -> Result<Vec<NamedValue>, Failure> {
    let values: rusqlite::Result<_> = match space {
        ValueSpace::SavedSearches => connection
            .prepare_cached("SELECT name, query, by, at FROM views ORDER BY name")?
            .query_map([], search_at)?
            .collect(),
        ValueSpace::Alerts => connection
            .prepare_cached("SELECT name, value FROM alerts ORDER BY name")?
            .query_map([], value_at)?
            .collect(),
        ValueSpace::Source(source) => connection
            .prepare_cached("SELECT name, value FROM source_states WHERE source = ?1 ORDER BY name")?
            .query_map([source.as_str()], value_at)?
            .collect(),
    };
    Ok(values?)
}

fn delete(connection: &Connection, space: &ValueSpace, name: &str) -> Result<(), Failure> {
    match space {
        ValueSpace::SavedSearches => connection
            .prepare_cached("DELETE FROM views WHERE name = ?1")?
            .execute([name]),
        ValueSpace::Alerts => connection
            .prepare_cached("DELETE FROM alerts WHERE name = ?1")?
            .execute([name]),
        ValueSpace::Source(source) => connection
            .prepare_cached("DELETE FROM source_states WHERE source = ?1 AND name = ?2")?
            .execute([source.as_str(), name]),
    }?;
    Ok(())
}

fn insert(connection: &Connection, space: &ValueSpace, put: &NamedValue) -> Result<(), Failure> {
    match space {
        ValueSpace::SavedSearches => {
            let not_a_search = || Failure::Rejected(format!("`{}` is not a saved search", put.name));
            let search = SavedSearch::from_value(&put.value).ok_or_else(not_a_search)?;
            connection
                .prepare_cached("INSERT OR REPLACE INTO views (name, query, by, at) VALUES (?1, ?2, ?3, ?4)")?
                .execute((&put.name, &search.query, &search.by, search.at.as_micros()))
        }
        ValueSpace::Alerts => connection
            .prepare_cached("INSERT OR REPLACE INTO alerts (name, value) VALUES (?1, ?2)")?
            .execute((&put.name, &put.value)),
        ValueSpace::Source(source) => connection
            .prepare_cached("INSERT OR REPLACE INTO source_states (source, name, value) VALUES (?1, ?2, ?3)")?
            .execute((source.as_str(), &put.name, &put.value)),
    }?;
    Ok(())
}

fn search_at(row: &Row<'_>) -> rusqlite::Result<NamedValue> {
    let search = SavedSearch {
        name: row.get(0)?,
        query: row.get(1)?,
        by: row.get(2)?,
        at: Timestamp::from_micros(row.get(3)?),
    };
    Ok(search.to_value())
}

fn value_at(row: &Row<'_>) -> rusqlite::Result<NamedValue> {
    Ok(NamedValue {
        name: row.get(0)?,
        value: row.get(1)?,
    })
}

//! Small values with names, in one table per kind of space. Saved searches have a column for each of their parts.

use hapax_core::SourceName;
use hapax_core::store::{NamedValue, SavedSearch, Swapped, ValueSpace, ValueSwap};
use tokio_postgres::Row;

use crate::bind::{Param, param};
use crate::failure::Failure;
use crate::rows::time_at;
use crate::session::Session;

/// The statements of a table. The first parameters are its key.
struct Table {
    /// Nobody else adds or changes a row until the transaction ends: the count is exact, and what is absent stays so.
    lock_to_add: &'static str,
    /// Like every statement that changes a row, and taken before the row's own lock, so that no two transactions wait
    /// for each other.
    lock_to_change: &'static str,
    find: &'static str,
    find_to_change: &'static str,
    list: &'static str,
    delete: &'static str,
    upsert: &'static str,
}

macro_rules! table {
    ($table:literal, $columns:literal, $of:literal, $key:literal, $upsert:literal) => {
        Table {
            lock_to_add: concat!("LOCK TABLE ", $table, " IN SHARE ROW EXCLUSIVE MODE"),
            lock_to_change: concat!("LOCK TABLE ", $table, " IN ROW EXCLUSIVE MODE"),
            find: concat!("SELECT ", $columns, " FROM ", $table, " WHERE ", $key),
            find_to_change: concat!(
                "SELECT ",
                $columns,
                " FROM ",
                $table,
                " WHERE ",
                $key,
                " FOR UPDATE"
            ),
            list: concat!("SELECT ", $columns, " FROM ", $table, $of, " ORDER BY name"),
            delete: concat!("DELETE FROM ", $table, " WHERE ", $key),
            upsert: concat!("INSERT INTO ", $table, $upsert),
        }
    };
}

const SAVED_SEARCHES: Table = table!(
    "hapax.views",
    "name, query, by, at",
    "",
    "name = $1::text",
    " (name, query, by, at) VALUES ($1::text, $2::text, $3::text, $4::int8)
      ON CONFLICT (name) DO UPDATE SET query = excluded.query, by = excluded.by, at = excluded.at"
);

const ALERTS: Table = table!(
    "hapax.alerts",
    "name, value",
    "",
    "name = $1::text",
    " (name, value) VALUES ($1::text, $2::bytea) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
);

const SOURCES: Table = table!(
    "hapax.source_states",
    "name, value",
    " WHERE source = $1::text",
    "source = $1::text AND name = $2::text",
    " (source, name, value) VALUES ($1::text, $2::text, $3::bytea)
      ON CONFLICT (source, name) DO UPDATE SET value = excluded.value"
);

const SOURCES_WITH_VALUES: &str = "SELECT DISTINCT source FROM hapax.source_states ORDER BY source";

/// Replaces a value if it is as expected. If two replicas expect the same value at once, the second waits for the first
/// to commit and then finds a different one.
pub(crate) async fn swap(session: &Session, swap: &ValueSwap) -> Result<Swapped, Failure> {
    session.begin().await?;
    let swapped = swap_locked(session, swap).await?;
    session.commit().await?;
    Ok(swapped)
}

/// The value with a name.
pub(crate) async fn value(
    session: &Session,
    space: &ValueSpace,
    name: &str,
) -> Result<Option<Vec<u8>>, Failure> {
    find(session, space, table(space).find, name).await
}

/// All values of a space, by name.
pub(crate) async fn values(session: &Session, space: &ValueSpace) -> Result<Vec<NamedValue>, Failure> {
    let source = space.source().map(SourceName::as_str);
    let of: Vec<Param<'_>> = source.iter().map(param).collect();
    let rows = session.rows(table(space).list, &of).await?;
    rows.iter().map(|row| value_at(space, row)).collect()
}

/// The sources that have values.
pub(crate) async fn sources(session: &Session) -> Result<Vec<SourceName>, Failure> {
    let rows = session.rows(SOURCES_WITH_VALUES, &[]).await?;
    rows.iter()
        .map(|row| Ok(row.try_get::<_, &str>(0)?.into()))
        .collect()
}

async fn swap_locked(session: &Session, swap: &ValueSwap) -> Result<Swapped, Failure> {
    let table = table(&swap.space);
    let lock = if swap.may_add() {
        table.lock_to_add
    } else {
        table.lock_to_change
    };
    session.execute(lock, &[]).await?;
    let found = find(session, &swap.space, table.find_to_change, &swap.name).await?;
    if !swap.expected.is_met_by(found.as_deref()) {
        return Ok(Swapped::Differs);
    }
    if swap.may_add() && swap.space.limit().is_some() {
        let kept = values(session, &swap.space).await?;
        if !swap.has_room(kept.iter().map(|kept| kept.name.as_str())) {
            return Ok(Swapped::Full);
        }
    }
    let name = swap.name.as_str();
    let source = swap.space.source().map(SourceName::as_str);
    if swap.put.as_ref().is_none_or(|put| put.name != swap.name) {
        session
            .execute(table.delete, &key(source.as_ref(), &name))
            .await?;
    }
    if let Some(put) = &swap.put {
        upsert(session, &swap.space, put).await?;
    }
    Ok(Swapped::Done)
}

async fn find(
    session: &Session,
    space: &ValueSpace,
    statement: &'static str,
    name: &str,
) -> Result<Option<Vec<u8>>, Failure> {
    let source = space.source().map(SourceName::as_str);
    let found = session.optional(statement, &key(source.as_ref(), &name)).await?;
    let read = |row: Row| Ok(value_at(space, &row)?.value);
    found.map(read).transpose()
}

async fn upsert(session: &Session, space: &ValueSpace, put: &NamedValue) -> Result<(), Failure> {
    let source = space.source().map(SourceName::as_str);
    let name = put.name.as_str();
    let mut row = key(source.as_ref(), &name);
    match space {
        ValueSpace::SavedSearches => {
            let not_a_search = || Failure::Rejected(format!("`{name}` is not a saved search"));
            let search = SavedSearch::from_value(&put.value).ok_or_else(not_a_search)?;
            let at = search.at.as_micros();
            row.extend([param(&search.query), param(&search.by), param(&at)]);
            session.execute(SAVED_SEARCHES.upsert, &row).await
        }
        ValueSpace::Alerts | ValueSpace::Source(_) => {
            row.push(param(&put.value));
            session.execute(table(space).upsert, &row).await
        }
    }
}

const fn table(space: &ValueSpace) -> &'static Table {
    match space {
        ValueSpace::SavedSearches => &SAVED_SEARCHES,
        ValueSpace::Alerts => &ALERTS,
        ValueSpace::Source(_) => &SOURCES,
    }
}

/// The key of a row: its source, if it has one, and its name.
fn key<'a>(source: Option<&'a &'a str>, name: &'a &'a str) -> Vec<Param<'a>> {
    source.into_iter().chain([name]).map(param).collect()
}

fn value_at(space: &ValueSpace, row: &Row) -> Result<NamedValue, Failure> {
    match space {
        ValueSpace::SavedSearches => {
            let search = SavedSearch {
                name: row.try_get(0)?,
                query: row.try_get(1)?,
                by: row.try_get(2)?,
                at: time_at(row, 3)?,
            };
            Ok(search.to_value())
        }
        ValueSpace::Alerts | ValueSpace::Source(_) => Ok(NamedValue {
            name: row.try_get(0)?,
            value: row.try_get(1)?,
        }),
    }
}

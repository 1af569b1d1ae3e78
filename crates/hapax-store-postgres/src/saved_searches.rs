//! Saved searches: queries with names.

use hapax_core::store::{SAVED_SEARCHES_MAX, SavedSearch};

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::time_at;
use crate::session::Session;

// Serialises replicas that save at the same time, so that the count is exact.
const LOCK: &str = "LOCK TABLE hapax.views IN SHARE ROW EXCLUSIVE MODE";

const OTHERS: &str = "SELECT count(*) FROM hapax.views WHERE name <> $1::text";

const UPSERT: &str = "
    INSERT INTO hapax.views (name, query, by, at) VALUES ($1::text, $2::text, $3::text, $4::int8)
    ON CONFLICT (name) DO UPDATE SET query = excluded.query, by = excluded.by, at = excluded.at";

const DELETE: &str = "DELETE FROM hapax.views WHERE name = $1::text RETURNING name";

const SELECT: &str = "SELECT name, query, by, at FROM hapax.views ORDER BY name";

/// Stores a search, replacing any with the same name. Returns whether there was room.
pub(crate) async fn put(session: &Session, search: &SavedSearch) -> Result<bool, Failure> {
    session.begin().await?;
    session.execute(LOCK, &[]).await?;
    let others: i64 = session
        .one(OTHERS, bind![search.name.as_str()])
        .await?
        .try_get(0)?;
    let has_room = others < SAVED_SEARCHES_MAX as i64;
    if has_room {
        let (name, query, by) = (search.name.as_str(), search.query.as_str(), search.by.as_str());
        session
            .execute(UPSERT, bind![name, query, by, search.at.as_micros()])
            .await?;
    }
    session.commit().await?;
    Ok(has_room)
}

/// Deletes a search. Returns whether there was one.
pub(crate) async fn delete(session: &Session, name: &str) -> Result<bool, Failure> {
    session.begin().await?;
    let found = session.optional(DELETE, bind![name]).await?;
    session.commit().await?;
    Ok(found.is_some())
}

/// Every search, by name.
pub(crate) async fn list(session: &Session) -> Result<Vec<SavedSearch>, Failure> {
    let rows = session.rows(SELECT, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(SavedSearch {
                name: row.try_get(0)?,
                query: row.try_get(1)?,
                by: row.try_get(2)?,
                at: time_at(row, 3)?,
            })
        })
        .collect()
}

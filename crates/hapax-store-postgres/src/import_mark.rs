//! The mark of an unfinished store migration: a database that has it is not served. It is a separate table, so that its
//! existence says everything.

use hapax_core::store::ImportMark;
use tokio_postgres::Client;

use crate::failure::Failure;
use crate::session::Session;

const EXISTS: &str = "SELECT to_regclass('hapax.import') IS NOT NULL";

/// Whether the database belongs to an unfinished migration.
pub(crate) async fn is_there(client: &Client) -> Result<bool, tokio_postgres::Error> {
    match client.query_typed(EXISTS, &[]).await?.first() {
        Some(row) => row.try_get(0),
        None => Ok(false),
    }
}

pub(crate) async fn read(session: &Session) -> Result<Option<ImportMark>, Failure> {
    if !session.one(EXISTS, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(None);
    }
    let rows = session.rows_of("SELECT mark FROM hapax.import", &[]).await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let mark = serde_json::from_str(row.try_get(0)?).map_err(|error| {
        Failure::Unreadable(format!(
            "the mark of the unfinished migration cannot be read: {error}"
        ))
    })?;
    Ok(Some(mark))
}

//! Migration state in the database: its own origin, and the mark of an unfinished migration. The mark is a separate
//! table, so that its existence says everything.

use hapax_core::store::{ImportBegun, ImportMark, MigrationCursor, Origin};
use tokio_postgres::Client;

use super::census::count;
use crate::bind::bind;
use crate::failure::Failure;
use crate::session::Session;

const EXISTS: &str = "SELECT to_regclass('hapax.import') IS NOT NULL";

const DRAW: &str = "
    INSERT INTO hapax.meta (key, value) VALUES ('origin', $1::int8) ON CONFLICT (key) DO NOTHING";

const ORIGIN: &str = "SELECT value FROM hapax.meta WHERE key = 'origin'";

const PASS: &str = "SELECT setval('hapax.tokens', greatest(last_value, $1::int8)) FROM hapax.tokens";

/// Whether the database belongs to an unfinished migration.
pub(crate) async fn is_unfinished_copy(client: &Client) -> Result<bool, tokio_postgres::Error> {
    match client.query_typed(EXISTS, &[]).await?.first() {
        Some(row) => row.try_get(0),
        None => Ok(false),
    }
}

/// The number that identifies this store, drawn now if it has none.
pub(super) async fn origin(session: &Session) -> Result<Origin, Failure> {
    session.begin().await?;
    session
        .execute(DRAW, bind![fastrand::i64(i64::MIN..=i64::MAX)])
        .await?;
    let number = session.one(ORIGIN, &[]).await?.try_get(0)?;
    session.commit().await?;
    Ok(Origin(number))
}

/// Marks an empty database as the target of an unfinished migration.
pub(super) async fn begin(session: &Session, mark: &ImportMark) -> Result<ImportBegun, Failure> {
    session.begin().await?;
    let begun = match read(session).await? {
        Some(known) => ImportBegun::Unfinished(known),
        None if count(session).await?.is_empty() => {
            // Not prepared, because the table is created and dropped.
            session
                .rows_of(
                    "CREATE TABLE IF NOT EXISTS hapax.import (mark text COLLATE \"C\" NOT NULL)",
                    &[],
                )
                .await?;
            let text = written(mark)?;
            session
                .rows_of("INSERT INTO hapax.import (mark) VALUES ($1::text)", bind![text])
                .await?;
            let below = i64::try_from(mark.census.numbers_below).map_err(|_| {
                Failure::Rejected(
                    "the numbers of the other store are greater than this store can hold".to_owned(),
                )
            })?;
            session.execute(PASS, bind![below]).await?;
            ImportBegun::Started
        }
        None => ImportBegun::Occupied,
    };
    session.commit().await?;
    Ok(begun)
}

/// Stores the progress of the migration, within the transaction of the imported records.
pub(super) async fn advance(session: &Session, reached: &MigrationCursor) -> Result<(), Failure> {
    let Some(mark) = read(session).await? else {
        return Err(Failure::Rejected(
            "no migration into this store was started".to_owned(),
        ));
    };
    let mark = ImportMark {
        reached: reached.clone(),
        ..mark
    };
    let text = written(&mark)?;
    session
        .rows_of("UPDATE hapax.import SET mark = $1::text", bind![text])
        .await?;
    Ok(())
}

/// Removes the mark.
pub(super) async fn finish(session: &Session) -> Result<(), Failure> {
    session.begin().await?;
    session.rows_of("DROP TABLE IF EXISTS hapax.import", &[]).await?;
    session.commit().await
}

async fn read(session: &Session) -> Result<Option<ImportMark>, Failure> {
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

fn written(mark: &ImportMark) -> Result<String, Failure> {
    serde_json::to_string(mark)
        .map_err(|error| Failure::Rejected(format!("the mark cannot be written as JSON: {error}")))
}

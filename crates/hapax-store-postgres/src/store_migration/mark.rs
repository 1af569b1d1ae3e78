//! Migration state in the database: its own origin, and the progress of a migration into it.

use hapax_core::store::{ImportBegun, ImportMark, MigrationCursor, Origin};

use super::census::count;
use crate::bind::bind;
use crate::failure::Failure;
use crate::import_mark;
use crate::session::Session;

const DRAW: &str = "
    INSERT INTO hapax.meta (key, value) VALUES ('origin', $1::int8) ON CONFLICT (key) DO NOTHING";

const ORIGIN: &str = "SELECT value FROM hapax.meta WHERE key = 'origin'";

const PASS: &str = "SELECT setval('hapax.tokens', greatest(last_value, $1::int8)) FROM hapax.tokens";

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
    let begun = match import_mark::read(session).await? {
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
    let Some(mark) = import_mark::read(session).await? else {
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

fn written(mark: &ImportMark) -> Result<String, Failure> {
    serde_json::to_string(mark)
        .map_err(|error| Failure::Rejected(format!("the mark cannot be written as JSON: {error}")))
}

//! Migration state in the file: its own origin, and the mark of an unfinished migration.

use hapax_core::store::{ImportBegun, ImportMark, MigrationCursor, Origin};
use rusqlite::{Connection, OptionalExtension};

use super::census::census;
use crate::desk::Desk;
use crate::failure::Failure;

/// Whether the file belongs to an unfinished migration.
pub(crate) fn is_unfinished_copy(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'import')",
        [],
        |row| row.get(0),
    )
}

/// The number that identifies this store, drawn now if it has none.
pub(super) fn origin(desk: &mut Desk<'_>) -> Result<Origin, Failure> {
    desk.connection.execute(
        "INSERT INTO meta (key, value) VALUES ('origin', random()) ON CONFLICT (key) DO NOTHING",
        [],
    )?;
    let number = desk
        .connection
        .query_row("SELECT value FROM meta WHERE key = 'origin'", [], |row| {
            row.get(0)
        })?;
    Ok(Origin(number))
}

/// Marks an empty file as the target of an unfinished migration.
pub(super) fn begin(desk: &mut Desk<'_>, mark: &ImportMark) -> Result<ImportBegun, Failure> {
    if let Some(known) = read(desk.connection)? {
        return Ok(ImportBegun::Unfinished(known));
    }
    if !census(desk.connection)?.is_empty() {
        return Ok(ImportBegun::Occupied);
    }
    write(desk.connection, mark)?;
    desk.state
        .tokens
        .pass(desk.connection, mark.census.numbers_below)?;
    Ok(ImportBegun::Started)
}

/// Stores the progress of the migration.
pub(super) fn advance(desk: &Desk<'_>, reached: &MigrationCursor) -> Result<(), Failure> {
    let Some(mark) = read(desk.connection)? else {
        return Err(Failure::Rejected(
            "no migration into this store was started".to_owned(),
        ));
    };
    let mark = ImportMark {
        reached: reached.clone(),
        ..mark
    };
    write(desk.connection, &mark)
}

/// Removes the mark.
pub(super) fn finish(desk: &mut Desk<'_>) -> Result<(), Failure> {
    desk.connection
        .execute("DELETE FROM meta WHERE key = 'import'", [])?;
    Ok(())
}

fn read(connection: &Connection) -> Result<Option<ImportMark>, Failure> {
    let text: Option<String> = connection
        .prepare_cached("SELECT value FROM meta WHERE key = 'import'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    text.map(|text| {
        serde_json::from_str(&text).map_err(|error| {
            Failure::Unreadable(format!(
                "the mark of the unfinished migration cannot be read: {error}"
            ))
        })
    })
    .transpose()
}

fn write(connection: &Connection, mark: &ImportMark) -> Result<(), Failure> {
    let text = serde_json::to_string(mark)
        .map_err(|error| Failure::Rejected(format!("the mark cannot be written as JSON: {error}")))?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('import', ?1)")?
        .execute([text])?;
    Ok(())
}

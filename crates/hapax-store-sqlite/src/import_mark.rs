//! The mark of an unfinished store migration: a file that has it is not served.

use hapax_core::store::ImportMark;
use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;

/// Whether the file belongs to an unfinished migration.
pub(crate) fn is_there(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'import')",
        [],
        |row| row.get(0),
    )
}

pub(crate) fn read(connection: &Connection) -> Result<Option<ImportMark>, Failure> {
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

pub(crate) fn write(connection: &Connection, mark: &ImportMark) -> Result<(), Failure> {
    let text = serde_json::to_string(mark)
        .map_err(|error| Failure::Rejected(format!("the mark cannot be written as JSON: {error}")))?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES ('import', ?1)")?
        .execute([text])?;
    Ok(())
}

pub(crate) fn remove(connection: &Connection) -> Result<(), Failure> {
    connection.execute("DELETE FROM meta WHERE key = 'import'", [])?;
    Ok(())
}

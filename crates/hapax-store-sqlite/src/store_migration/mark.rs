//! Migration state in the file: its own origin, and the progress of a migration into it.

use hapax_core::store::{ImportBegun, ImportMark, MigrationCursor, Origin};

use super::census::census;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::import_mark;

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
    if let Some(known) = import_mark::read(desk.connection)? {
        return Ok(ImportBegun::Unfinished(known));
    }
    if !census(desk.connection)?.is_empty() {
        return Ok(ImportBegun::Occupied);
    }
    import_mark::write(desk.connection, mark)?;
    desk.state
        .tokens
        .pass(desk.connection, mark.census.numbers_below)?;
    Ok(ImportBegun::Started)
}

/// Stores the progress of the migration.
pub(super) fn advance(desk: &Desk<'_>, reached: &MigrationCursor) -> Result<(), Failure> {
    let Some(mark) = import_mark::read(desk.connection)? else {
        return Err(Failure::Rejected(
            "no migration into this store was started".to_owned(),
        ));
    };
    let mark = ImportMark {
        reached: reached.clone(),
        ..mark
    };
    import_mark::write(desk.connection, &mark)
}

/// Removes the mark.
pub(super) fn finish(desk: &mut Desk<'_>) -> Result<(), Failure> {
    import_mark::remove(desk.connection)
}

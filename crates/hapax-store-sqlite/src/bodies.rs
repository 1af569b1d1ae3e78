//! Bodies whose sender does not sign the id: the same body under another id is flagged.

use hapax_core::store::BodyNote;
use rusqlite::OptionalExtension;

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::rows::id_at;

/// Remembers the first event of each body and flags the later ones.
pub(crate) fn note_bodies(desk: &mut Desk<'_>, notes: &[BodyNote]) -> Result<(), Failure> {
    for note in notes {
        let scope = desk.intern(note.scope.as_str())?;
        let first = desk
            .connection
            .prepare_cached("SELECT id FROM bodies WHERE scope = ?1 AND raw_hash = ?2")?
            .query_row((scope, note.raw_hash.as_bytes()), |row| Ok(id_at(row, 0)))
            .optional()?
            .transpose()?;
        match first {
            None => {
                desk.connection
                    .prepare_cached(
                        "INSERT INTO bodies (scope, raw_hash, id, until) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute((
                        scope,
                        note.raw_hash.as_bytes(),
                        note.id.as_bytes(),
                        note.until.as_micros(),
                    ))?;
            }
            Some(first) if first == note.id => {}
            Some(first) => {
                if find_event(desk.connection, note.id)?.is_some() {
                    desk.connection
                        .prepare_cached("INSERT OR IGNORE INTO same_body (id, earlier) VALUES (?1, ?2)")?
                        .execute((note.id.as_bytes(), first.as_bytes()))?;
                }
            }
        }
    }
    Ok(())
}

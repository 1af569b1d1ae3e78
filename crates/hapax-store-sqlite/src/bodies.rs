//! Bodies from providers that do not sign the id: the same body under another id is flagged, or claimed by the accept
//! that brings it. Names bound to a body are stored here too.

use hapax_core::store::{Binding, BodyNote};
use hapax_core::{BodyHash, EventId, Scope};
use rusqlite::OptionalExtension;

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::reader::ReadDesk;
use crate::rows::{id_at, time_at};

/// Remembers the first event of each body and flags later events with the same body.
pub(crate) fn note_bodies(desk: &mut Desk<'_>, notes: &[BodyNote]) -> Result<(), Failure> {
    for note in notes {
        let first = keep(desk, note)?;
        if first != note.id && find_event(desk.connection, note.id)?.is_some() {
            flag(desk, note.id, first)?;
        }
    }
    Ok(())
}

/// Claims the body of a new event, or flags the event because another event has the same body. Returns whether it was
/// flagged. `last` is the previous event of the identity; its claim passes to the new event.
pub(crate) fn claim(desk: &mut Desk<'_>, note: &BodyNote, last: Option<EventId>) -> Result<bool, Failure> {
    let first = keep(desk, note)?;
    if first == note.id {
        return Ok(false);
    }
    if Some(first) != last {
        flag(desk, note.id, first)?;
        return Ok(true);
    }
    let scope = desk.intern(note.scope.as_str())?;
    desk.connection
        .prepare_cached("UPDATE bodies SET id = ?3, until = ?4 WHERE scope = ?1 AND raw_hash = ?2")?
        .execute((
            scope,
            note.raw_hash.as_bytes(),
            note.id.as_bytes(),
            note.until.as_micros(),
        ))?;
    Ok(false)
}

fn flag(desk: &Desk<'_>, id: EventId, earlier: EventId) -> Result<(), Failure> {
    desk.connection
        .prepare_cached("INSERT OR IGNORE INTO same_body (id, earlier) VALUES (?1, ?2)")?
        .execute((id.as_bytes(), earlier.as_bytes()))?;
    Ok(())
}

/// Returns whether a name is bound to this body, binding it now if it was free.
pub(crate) fn bind(desk: &mut Desk<'_>, binding: &Binding) -> Result<bool, Failure> {
    let note = binding.note();
    Ok(keep(desk, &note)? == note.id)
}

/// The subset of these bodies that are remembered.
pub(crate) fn remembered(
    desk: &mut ReadDesk,
    bodies: &[(Scope, BodyHash)],
) -> Result<Vec<BodyNote>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT b.id, b.until FROM names n JOIN bodies b ON b.scope = n.no WHERE n.name = ?1 AND b.raw_hash = ?2",
    )?;
    let mut notes = Vec::new();
    for (scope, raw_hash) in bodies {
        let mut rows = select.query((scope.as_str(), raw_hash.as_bytes()))?;
        if let Some(row) = rows.next()? {
            notes.push(BodyNote {
                scope: scope.clone(),
                raw_hash: *raw_hash,
                id: id_at(row, 0)?,
                until: time_at(row, 1)?,
            });
        }
    }
    Ok(notes)
}

/// Renames a note if it still belongs to the same event. If the new name is already known, the old one is deleted.
pub(crate) fn rename(desk: &mut Desk<'_>, before: &BodyNote, after: &BodyNote) -> Result<(), Failure> {
    let scope = desk.intern(before.scope.as_str())?;
    let gone = desk
        .connection
        .prepare_cached("DELETE FROM bodies WHERE scope = ?1 AND raw_hash = ?2 AND id = ?3")?
        .execute((scope, before.raw_hash.as_bytes(), before.id.as_bytes()))?;
    if gone > 0 {
        keep(desk, after)?;
    }
    Ok(())
}

/// Stores a note unless one exists already. Returns the id that is stored.
pub(crate) fn keep(desk: &mut Desk<'_>, note: &BodyNote) -> Result<EventId, Failure> {
    let scope = desk.intern(note.scope.as_str())?;
    let first = desk
        .connection
        .prepare_cached("SELECT id FROM bodies WHERE scope = ?1 AND raw_hash = ?2")?
        .query_row((scope, note.raw_hash.as_bytes()), |row| Ok(id_at(row, 0)))
        .optional()?
        .transpose()?;
    if let Some(first) = first {
        return Ok(first);
    }
    desk.connection
        .prepare_cached("INSERT INTO bodies (scope, raw_hash, id, until) VALUES (?1, ?2, ?3, ?4)")?
        .execute((
            scope,
            note.raw_hash.as_bytes(),
            note.id.as_bytes(),
            note.until.as_micros(),
        ))?;
    Ok(note.id)
}

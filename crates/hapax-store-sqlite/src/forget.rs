//! Forgetting an identity: its next event is new and has the next generation.

use hapax_core::store::Forgotten;
use hapax_core::{EventId, Generation, Identity, Key};
use rusqlite::{Connection, OptionalExtension};

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::ledger;
use crate::rows::id_at;

/// Forgets an identity unless it has unfinished deliveries.
pub(crate) fn forget(desk: &mut Desk<'_>, identity: &Identity) -> Result<Forgotten, Failure> {
    let key = identity.key();
    let Some(no) = ledger::find(desk, key)? else {
        return Ok(Forgotten::NotFound);
    };
    let found = desk
        .connection
        .prepare_cached("SELECT id, generation FROM ledger WHERE no = ?1 AND forgotten = 0")?
        .query_row([no], |row| Ok((id_at(row, 0), row.get::<_, u32>(1)?)))
        .optional()?;
    let Some((id, generation)) = found else {
        return Ok(Forgotten::NotFound);
    };
    let mut events = earlier(desk.connection, key)?;
    events.push(id?);
    for event in events {
        if let Some(seq) = find_event(desk.connection, event)?
            && has_unfinished(desk, seq)?
        {
            return Ok(Forgotten::Unfinished);
        }
    }
    let next = Generation(generation).next();
    desk.connection
        .prepare_cached("UPDATE ledger SET forgotten = 1, generation = ?2 WHERE no = ?1")?
        .execute((no, next.0))?;
    Ok(Forgotten::Done { next })
}

/// The stored events that had this identity before it was forgotten.
pub(crate) fn earlier(connection: &Connection, key: Key) -> Result<Vec<EventId>, Failure> {
    let mut select = connection.prepare_cached("SELECT id FROM earlier WHERE key = ?1")?;
    let mut rows = select.query([key.as_bytes()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(id_at(row, 0)?);
    }
    Ok(found)
}

/// Whether any delivery of the event in row `seq` is unfinished.
pub(crate) fn has_unfinished(desk: &Desk<'_>, seq: i64) -> Result<bool, Failure> {
    Ok(desk
        .connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM work WHERE seq = ?1)")?
        .query_row([seq], |row| row.get(0))?)
}

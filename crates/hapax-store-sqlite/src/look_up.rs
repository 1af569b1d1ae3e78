//! Looking up an identity in the ledger.

use hapax_core::store::LedgerEntry;
use hapax_core::{BodyHash, ContentHash, EventId, Generation, Identity, Key, Timestamp};
use rusqlite::{Connection, Row};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::ledger;
use crate::names::Names;
use crate::reader::ReadDesk;
use crate::rows::{hash_at, id_at, optional_bytes_at, time_at};

/// The current state of an identity.
#[derive(Clone, Debug)]
pub(crate) enum Holder {
    /// It belongs to an event.
    Event(LedgerEntry),
    /// It was forgotten; the next event takes it.
    Forgotten {
        /// The event that had it.
        last: EventId,
        /// The generation of its next event.
        next: Generation,
    },
}

/// The ledger entry of an identity.
pub(crate) fn look_up(desk: &mut ReadDesk, identity: &Identity) -> Result<Option<LedgerEntry>, Failure> {
    Ok(match holder_in(desk, identity.key())? {
        Some(Holder::Event(entry)) => Some(entry),
        Some(Holder::Forgotten { .. }) | None => None,
    })
}

/// The state of the identity with this key.
pub(crate) fn holder(desk: &mut Desk<'_>, key: Key) -> Result<Option<Holder>, Failure> {
    match ledger::find(desk, key)? {
        Some(no) => holder_at(desk.connection, &mut desk.state.names, no),
        None => Ok(None),
    }
}

/// The same, for readers.
pub(crate) fn holder_in(desk: &mut ReadDesk, key: Key) -> Result<Option<Holder>, Failure> {
    match ledger::find_in(desk, key)? {
        Some(no) => holder_at(&desk.connection, &mut desk.names, no),
        None => Ok(None),
    }
}

/// The state of the identity in row `no`.
fn holder_at(connection: &Connection, names: &mut Names, no: i64) -> Result<Option<Holder>, Failure> {
    let mut select = connection.prepare_cached(
        "SELECT id, generation, first_seen, expires_at, raw_hash, content_rule, content_hash, forgotten
         FROM ledger WHERE no = ?1",
    )?;
    let mut rows = select.query([no])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let id = id_at(row, 0)?;
    let generation = Generation(row.get(1)?);
    if row.get(7)? {
        return Ok(Some(Holder::Forgotten {
            last: id,
            next: generation,
        }));
    }
    Ok(Some(Holder::Event(entry(
        connection, names, row, id, generation,
    )?)))
}

fn entry(
    connection: &Connection,
    names: &mut Names,
    row: &Row<'_>,
    id: EventId,
    generation: Generation,
) -> Result<LedgerEntry, Failure> {
    let first_seen: Timestamp = time_at(row, 2)?;
    let rule = names.text(connection, row.get(5)?)?;
    let hash = optional_bytes_at(row, 6)?.map(BodyHash::from_bytes);
    Ok(LedgerEntry {
        id,
        generation,
        first_seen,
        expires_at: time_at(row, 3)?,
        raw_hash: hash_at(row, 4)?,
        content_hash: rule.zip(hash).map(|(rule, hash)| ContentHash { rule, hash }),
    })
}

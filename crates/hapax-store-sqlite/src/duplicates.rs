//! Duplicate tallies, gathered by the caller and added here: off the hot path, lossy by design.

use hapax_core::store::{DuplicateNote, DuplicateTally, GAPS_MAX};
use hapax_core::{Identity, Key, Timestamp};
use rusqlite::{Connection, OptionalExtension};

use crate::desk::Desk;
use crate::failure::Failure;
use crate::ledger;
use crate::noted;
use crate::reader::ReadDesk;

/// Adds duplicates. A key that the ledger has since forgotten is skipped: nothing would ever delete its tally.
pub(crate) fn note_duplicates(desk: &mut Desk<'_>, notes: &[DuplicateNote]) -> Result<(), Failure> {
    for note in notes {
        if ledger::find(desk, note.key)?.is_none() {
            continue;
        }
        let known = read_tally(desk.connection, note.key)?;
        if known.is_none() {
            noted::note_duplicates(desk, note.key)?;
        }
        let mut tally = known.unwrap_or_default();
        tally.count += note.count;
        tally.last_at = tally.last_at.max(note.last_at);
        tally.gaps_ms.extend(&note.gaps_ms);
        let surplus = tally.gaps_ms.len().saturating_sub(GAPS_MAX);
        let gaps: Vec<u8> = tally.gaps_ms[surplus..]
            .iter()
            .flat_map(|gap| gap.to_be_bytes())
            .collect();
        desk.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO duplicates (key, copies, last_at, gaps) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((
                note.key.as_bytes(),
                i64::try_from(tally.count).unwrap_or(i64::MAX),
                tally.last_at.as_micros(),
                gaps,
            ))?;
    }
    Ok(())
}

/// The tally of an identity, for readers.
pub(crate) fn tally(desk: &mut ReadDesk, identity: &Identity) -> Result<Option<DuplicateTally>, Failure> {
    read_tally(&desk.connection, identity.key())
}

/// The number of duplicates of an identity.
pub(crate) fn count(connection: &Connection, key: Key) -> Result<u64, Failure> {
    let found: Option<i64> = connection
        .prepare_cached("SELECT copies FROM duplicates WHERE key = ?1")?
        .query_row([key.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0) as u64)
}

/// The tally of an identity.
pub(crate) fn read_tally(connection: &Connection, key: Key) -> Result<Option<DuplicateTally>, Failure> {
    let found: Option<(i64, i64, Vec<u8>)> = connection
        .prepare_cached("SELECT copies, last_at, gaps FROM duplicates WHERE key = ?1")?
        .query_row([key.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    Ok(found.map(|(count, last_at, gaps)| DuplicateTally {
        count: count as u64,
        last_at: Timestamp::from_micros(last_at),
        gaps_ms: gaps
            .as_chunks::<8>()
            .0
            .iter()
            .map(|gap| u64::from_be_bytes(*gap))
            .collect(),
    }))
}

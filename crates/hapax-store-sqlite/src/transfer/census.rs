//! How many of everything there are, counted row by row.

use hapax_core::store::Census;
use rusqlite::Connection;

use crate::failure::Failure;

// Rows of the audit trail have numbers of their own; in another store they share those of the tokens.
const NUMBERS_BELOW: &str = "
    SELECT max((SELECT value FROM meta WHERE key = 'token_reserved'),
               (SELECT coalesce(max(seq), 0) + 1 FROM events),
               (SELECT coalesce(max(no), 0) + 1 FROM audit))";

/// Counts.
pub(super) fn census(connection: &Connection) -> Result<Census, Failure> {
    let count = |table: &str| -> Result<u64, Failure> {
        let found: i64 =
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
        Ok(found as u64)
    };
    let numbers_below: i64 = connection.query_row(NUMBERS_BELOW, [], |row| row.get(0))?;
    Ok(Census {
        identities: count("ledger")?,
        events: count("events")?,
        unfinished: count("work")?,
        outcomes: count("outcomes")?,
        attempts: count("attempts")?,
        duplicates: count("duplicates")?,
        conflicts: count("conflicts")?,
        bodies: count("bodies")?,
        same_bodies: count("same_body")?,
        pauses: count("pauses")?,
        jobs: count("replays")?,
        audit: count("audit")?,
        numbers_below: numbers_below as u64,
    })
}

//! The number of records of each kind, counted row by row.

use hapax_core::EventId;
use hapax_core::store::Census;
use rusqlite::Connection;

use crate::failure::Failure;

// Rows of the audit trail are numbered separately here; in another store they share the numbers of the tokens.
const NUMBERS: &str = "
    SELECT max((SELECT value FROM meta WHERE key = 'token_reserved'), (SELECT coalesce(max(no), 0) + 1 FROM audit)),
           (SELECT coalesce(max(seq), 0) FROM events)";

pub(super) fn census(connection: &Connection) -> Result<Census, Failure> {
    let count = |table: &str| -> Result<u64, Failure> {
        let found: i64 =
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
        Ok(found as u64)
    };
    let (numbers, seq): (i64, i64) =
        connection.query_row(NUMBERS, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let order = EventId::order_in_micros(seq as u64);
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
        numbers_below: (numbers as u64).max(order + 1),
    })
}

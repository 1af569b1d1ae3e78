//! Counts of everything. Nothing here walks the ledger or the payloads: the cost of counting deliveries follows the
//! backlog, and everything else is a stored sum.

use std::collections::HashMap;
use std::path::Path;

use hapax_core::store::{Backlog, Counts, LedgerCount};
use hapax_core::{DeliveryState, Timestamp};
use rusqlite::OptionalExtension;

use crate::failure::Failure;
use crate::private::beside;
use crate::reader::ReadDesk;
use crate::rows::{state_code, state_of};
use crate::tallies::EVENTS;

pub(crate) fn counts(desk: &mut ReadDesk) -> Result<Counts, Failure> {
    let mut counts = Counts {
        backlog: backlog(desk)?,
        store_bytes: [desk.path.clone(), beside(&desk.path, "-wal")]
            .iter()
            .map(|path| file_bytes(path))
            .sum(),
        ..Counts::default()
    };
    let mut select = desk
        .connection
        .prepare_cached("SELECT scope, entries FROM tallies ORDER BY scope")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (number, entries): (i64, i64) = (row.get(0)?, row.get(1)?);
        let entries = u64::try_from(entries).unwrap_or(0);
        if number == EVENTS {
            counts.events = entries;
        } else if entries > 0 {
            let scope = desk.names.named(&desk.connection, number)?.scope.clone();
            counts.ledger.push(LedgerCount { scope, entries });
        }
    }
    counts.ledger.sort_by(|one, other| one.scope.cmp(&other.scope));
    Ok(counts)
}

/// Unfinished deliveries and dead letters by destination and state.
fn backlog(desk: &mut ReadDesk) -> Result<Vec<Backlog>, Failure> {
    let mut sums = unfinished(desk)?;
    sums.extend(dead(desk)?);
    let mut backlog = Vec::with_capacity(sums.len());
    for ((destination, state), sum) in sums {
        backlog.push(Backlog {
            destination: desk
                .names
                .named(&desk.connection, destination)?
                .destination
                .clone(),
            state: state_of(state)?,
            count: sum.count,
            oldest: accepted_at(desk, sum.first)?,
        });
    }
    backlog.sort_by(|one, other| (&one.destination, one.state).cmp(&(&other.destination, other.state)));
    Ok(backlog)
}

/// By destination and state.
type Sums = HashMap<(i64, i64), Sum>;

/// Sums the backlog in one walk in order of acceptance; grouping in SQL would sort it first.
fn unfinished(desk: &ReadDesk) -> Result<Sums, Failure> {
    let mut sums = Sums::new();
    let mut select = desk
        .connection
        .prepare_cached("SELECT destination, state, seq FROM work")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(2)?;
        let sum = sums
            .entry((row.get(0)?, row.get(1)?))
            .or_insert(Sum { count: 0, first: seq });
        sum.count += 1;
    }
    Ok(sums)
}

/// Sums of dead letters, from an index ordered by destination.
fn dead(desk: &ReadDesk) -> Result<Sums, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination, count(*), min(seq) FROM outcomes INDEXED BY outcomes_why
         WHERE current = 1 AND state = 4 GROUP BY destination",
    )?;
    let rows = select.query_map([], |row| {
        let sum = Sum {
            count: row.get::<_, i64>(1)? as u64,
            first: row.get(2)?,
        };
        Ok(((row.get(0)?, state_code(DeliveryState::Dead)), sum))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

struct Sum {
    count: u64,
    first: i64,
}

fn accepted_at(desk: &ReadDesk, seq: i64) -> Result<Option<Timestamp>, Failure> {
    let found: Option<i64> = desk
        .connection
        .prepare_cached("SELECT accepted_at FROM events WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))
        .optional()?;
    Ok(found.map(Timestamp::from_micros))
}

/// The size of a file; a missing file counts as 0 bytes.
fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

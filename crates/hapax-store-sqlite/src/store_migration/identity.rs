//! A complete identity, as it is exported.

use bytes::Bytes;
use hapax_core::store::{
    ConflictRecord, ConflictingBody, EventContents, IdentityRecord, InLane, LedgerEntry, OutcomeRecord,
    ReplayJobId, WorkRecord,
};
use hapax_core::{
    BodyHash, ContentHash, EventId, Generation, Headers, IdempotencyKey, Key, Scope, Timestamp, Token,
};
use rusqlite::Row;

use crate::desk::find_event;
use crate::duplicates::read_tally;
use crate::failure::Failure;
use crate::forget::earlier;
use crate::get;
use crate::indexed;
use crate::ledger;
use crate::reader::ReadDesk;
use crate::rows::{
    Class, bytes_at, error_at, hash_at, id_at, lane_of, optional_bytes_at, optional_id_at, read_event,
    state_of, time_at,
};

/// Reads an identity of the ledger with everything that belongs to it.
pub(super) fn read(desk: &mut ReadDesk, key: Key) -> Result<IdentityRecord, Failure> {
    let (scope, entry, is_forgotten) = entry(desk, key)?;
    let mut ids = earlier(&desk.connection, key)?;
    ids.push(entry.id);
    ids.sort_unstable();
    ids.dedup();
    let mut events = Vec::with_capacity(ids.len());
    for id in ids {
        if let Some(seq) = find_event(&desk.connection, id)? {
            events.push(contents(desk, id, seq)?);
        }
    }
    Ok(IdentityRecord {
        key,
        scope,
        entry,
        is_forgotten,
        events,
        duplicates: read_tally(&desk.connection, key)?,
        conflicts: conflicts(desk, key)?,
    })
}

fn entry(desk: &mut ReadDesk, key: Key) -> Result<(Scope, LedgerEntry, bool), Failure> {
    let no = ledger::find_in(desk, key)?;
    let mut select = desk.connection.prepare_cached(
        "SELECT scope, id, generation, first_seen, expires_at, raw_hash, content_rule, content_hash, forgotten
         FROM ledger WHERE no = ?1",
    )?;
    let mut rows = select.query([no])?;
    let Some(row) = rows.next()? else {
        return Err(Failure::Unreadable(format!("the ledger entry {key:?} is gone")));
    };
    let rule = desk.names.text(&desk.connection, row.get(6)?)?;
    let hash = optional_bytes_at(row, 7)?.map(BodyHash::from_bytes);
    let entry = LedgerEntry {
        id: id_at(row, 1)?,
        generation: Generation(row.get(2)?),
        first_seen: time_at(row, 3)?,
        expires_at: time_at(row, 4)?,
        raw_hash: hash_at(row, 5)?,
        content_hash: rule.zip(hash).map(|(rule, hash)| ContentHash { rule, hash }),
    };
    let scope = desk.names.named(&desk.connection, row.get(0)?)?.scope.clone();
    Ok((scope, entry, row.get(8)?))
}

fn contents(desk: &mut ReadDesk, id: EventId, seq: i64) -> Result<EventContents, Failure> {
    let event = read_event(&desk.connection, &mut desk.names, seq)?
        .ok_or_else(|| Failure::Unreadable(format!("the event {id} is gone")))?;
    let (generation, accepted_at) = desk
        .connection
        .prepare_cached("SELECT generation, accepted_at FROM events WHERE seq = ?1")?
        .query_row([seq], |row| {
            Ok((Generation(row.get(0)?), Timestamp::from_micros(row.get(1)?)))
        })?;
    Ok(EventContents {
        event,
        order: EventId::order_in_micros(seq as u64),
        generation,
        accepted_at,
        same_body_as: get::same_body(desk, id)?,
        indexed: indexed::values(desk, seq)?,
        work: work(desk, seq, accepted_at)?,
        outcomes: outcomes(desk, seq)?,
        attempts: get::attempts(desk, seq)?,
    })
}

fn work(desk: &mut ReadDesk, seq: i64, accepted_at: Timestamp) -> Result<Vec<WorkRecord>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination, generation, idempotency_key, attempts, lost, class, wake_at, token, lane, lane_order,
                on_dead, replay
         FROM work WHERE seq = ?1",
    )?;
    let mut rows = select.query([seq])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let class: i64 = row.get(5)?;
        let attempts: u32 = row.get(3)?;
        let is_running = class == Class::Running.code();
        let due_at = if is_running {
            Some(accepted_at)
        } else if class == Class::Waiting.code() {
            None
        } else {
            Some(time_at(row, 6)?)
        };
        let named = desk.names.named(&desk.connection, row.get(0)?)?;
        found.push(WorkRecord {
            destination: named.destination.clone(),
            generation: Generation(row.get(1)?),
            idempotency_key: IdempotencyKey::from_bytes(bytes_at(row, 2)?),
            attempts: attempts.saturating_sub(u32::from(is_running)),
            lost: row.get(4)?,
            due_at,
            token: Token(row.get::<_, i64>(7)? as u64),
            lane: in_lane(row, 8)?,
            replay: optional_id_at(row, 11)?.map(ReplayJobId),
        });
    }
    found.sort_by(|one, other| one.destination.cmp(&other.destination));
    Ok(found)
}

fn outcomes(desk: &mut ReadDesk, seq: i64) -> Result<Vec<OutcomeRecord>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination, token, state, current, holds, attempts, lost, finished_at, finished_no, error,
                generation, idempotency_key, lane, lane_order, on_dead, replay
         FROM outcomes WHERE seq = ?1",
    )?;
    let mut rows = select.query([seq])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let named = desk.names.named(&desk.connection, row.get(0)?)?;
        found.push(OutcomeRecord {
            destination: named.destination.clone(),
            token: Token(row.get::<_, i64>(1)? as u64),
            state: state_of(row.get(2)?)?,
            is_last: row.get(3)?,
            holds_lane: row.get(4)?,
            attempts: row.get(5)?,
            lost: row.get(6)?,
            finished_at: time_at(row, 7)?,
            finished_order: row.get::<_, i64>(8)? as u64,
            error: error_at(row, 9)?,
            generation: Generation(row.get(10)?),
            idempotency_key: IdempotencyKey::from_bytes(bytes_at(row, 11)?),
            lane: in_lane(row, 12)?,
            replay: optional_id_at(row, 15)?.map(ReplayJobId),
        });
    }
    found.sort_by(|one, other| (&one.destination, one.token).cmp(&(&other.destination, other.token)));
    Ok(found)
}

/// A lane from its three columns: key, position, and what a dead head does.
fn in_lane(row: &Row<'_>, column: usize) -> Result<Option<InLane>, Failure> {
    let place: Option<i64> = row.get(column + 1)?;
    Ok(
        lane_of(row.get(column)?, row.get(column + 2)?).map(|lane| InLane {
            lane,
            place: place.unwrap_or(0) as u64,
        }),
    )
}

fn conflicts(desk: &mut ReadDesk, key: Key) -> Result<Vec<ConflictRecord>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT first, raw_hash, source, received_at, seen, released_as, headers, body
         FROM conflicts WHERE key = ?1 ORDER BY no",
    )?;
    let mut rows = select.query([key.as_bytes()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let named = desk.names.named(&desk.connection, row.get(2)?)?;
        found.push(ConflictRecord {
            other_body: ConflictingBody {
                key,
                first: id_at(row, 0)?,
                source: named.source.clone(),
                raw_hash: hash_at(row, 1)?,
                received_at: time_at(row, 3)?,
                headers: Headers::from_bytes(row.get::<_, Vec<u8>>(6)?),
                body: Bytes::from(row.get::<_, Vec<u8>>(7)?),
            },
            seen: row.get::<_, i64>(4)? as u64,
            released_as: optional_id_at(row, 5)?,
        });
    }
    Ok(found)
}

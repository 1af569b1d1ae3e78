//! What is deleted together: an event with its history, and later its ledger entry with its tallies.

use std::time::Instant;

use hapax_core::store::Purged;
use hapax_core::{EventId, Identity, Key, Timestamp};
use rusqlite::OptionalExtension;

use crate::desk::{Desk, find_event};
use crate::failure::Failure;
use crate::forget::has_unfinished;
use crate::lanes;
use crate::ledger;
use crate::noted;
use crate::rows::{id_at, key_at};
use crate::tallies;

/// Ledger entries examined between two checks of the time.
const AT_ONCE: u64 = 64;

/// Whether nothing keeps the old event in row `seq`: no unfinished delivery, and no dead letter within its retention. A
/// discarded one counts too, because it can be restored.
pub(super) fn may_go(desk: &Desk<'_>, seq: i64, dead_before: Timestamp) -> Result<bool, Failure> {
    if has_unfinished(desk, seq)? {
        return Ok(false);
    }
    let kept: bool = desk
        .connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM outcomes
                            WHERE seq = ?1 AND current = 1 AND state >= 4 AND finished_at >= ?2)",
        )?
        .query_row((seq, dead_before.as_micros()), |row| row.get(0))?;
    Ok(!kept)
}

/// Deletes the event in row `seq` with everything but its ledger entry. Returns whether it was there.
pub(super) fn remove(desk: &mut Desk<'_>, seq: i64) -> Result<bool, Failure> {
    let found = desk
        .connection
        .prepare_cached("SELECT id, scope, event_id FROM events WHERE seq = ?1")?
        .query_row([seq], |row| {
            Ok((id_at(row, 0), row.get::<_, i64>(1)?, row.get::<_, String>(2)?))
        })
        .optional()?;
    let Some((id, scope, event_id)) = found else {
        return Ok(false);
    };
    let id = id?;
    let scope = desk.state.names.named(desk.connection, scope)?.scope.clone();
    let key = Identity::new(scope, event_id).key();
    let held = held_lanes(desk, seq)?;
    for sql in [
        "DELETE FROM outcomes WHERE seq = ?1",
        "DELETE FROM attempts WHERE seq = ?1",
        "DELETE FROM indexed WHERE seq = ?1",
        "DELETE FROM events WHERE seq = ?1",
    ] {
        desk.connection.prepare_cached(sql)?.execute([seq])?;
    }
    noted::remove(desk, seq)?;
    for sql in [
        "DELETE FROM conflicts WHERE first = ?1",
        "DELETE FROM same_body WHERE id = ?1",
    ] {
        desk.connection.prepare_cached(sql)?.execute([id.as_bytes()])?;
    }
    desk.connection
        .prepare_cached("DELETE FROM earlier WHERE key = ?1 AND id = ?2")?
        .execute((key.as_bytes(), id.as_bytes()))?;
    desk.state.tallies.add(tallies::EVENTS, -1);
    // Deleting a dead head must not leave its lane blocked forever.
    for (destination, lane) in held {
        lanes::promote(desk, destination, &lane)?;
    }
    if let Some(entry) = orphan(desk, key)? {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO expiring (expires_at, key) VALUES (?1, ?2)")?
            .execute((entry.expires_at, key.as_bytes()))?;
    }
    Ok(true)
}

/// Deletes ledger entries that expired before `before` and have no stored events. Returns whether more are left.
pub(super) fn expired_ledger(
    desk: &mut Desk<'_>,
    before: Timestamp,
    limit: u64,
    deadline: Instant,
    purged: &mut Purged,
) -> Result<bool, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT expires_at, key FROM expiring WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2",
    )?;
    loop {
        let some = (limit - purged.ledger).min(AT_ONCE);
        let mut rows = select.query((before.as_micros(), some as i64 + 1))?;
        let mut due = Vec::new();
        while let Some(row) = rows.next()? {
            due.push((row.get::<_, i64>(0)?, key_at(row, 1)?));
        }
        drop(rows);
        let left = due.len() > some as usize;
        for (expires_at, key) in due.into_iter().take(some as usize) {
            purged.ledger += u64::from(forget(desk, expires_at, key, before)?);
        }
        if !left || purged.ledger >= limit || Instant::now() >= deadline {
            return Ok(left);
        }
    }
}

/// Deletes the ledger entry of an identity if it has expired and none of its events is stored. Returns whether it did.
fn forget(desk: &mut Desk<'_>, expires_at: i64, key: Key, before: Timestamp) -> Result<bool, Failure> {
    desk.connection
        .prepare_cached("DELETE FROM expiring WHERE expires_at = ?1 AND key = ?2")?
        .execute((expires_at, key.as_bytes()))?;
    // An identity that was taken again has a newer event, which queues it here again when it is deleted.
    let Some(entry) = orphan(desk, key)?.filter(|entry| entry.expires_at < before.as_micros()) else {
        return Ok(false);
    };
    ledger::remove(desk, key, entry.no)?;
    for sql in [
        "DELETE FROM duplicates WHERE key = ?1",
        "DELETE FROM conflicts WHERE key = ?1",
    ] {
        desk.connection.prepare_cached(sql)?.execute([key.as_bytes()])?;
    }
    desk.state.tallies.add(entry.scope, -1);
    Ok(true)
}

struct Orphan {
    no: i64,
    scope: i64,
    expires_at: i64,
}

/// The ledger entry of an identity, if none of its events is stored any longer.
fn orphan(desk: &Desk<'_>, key: Key) -> Result<Option<Orphan>, Failure> {
    let Some(no) = ledger::find(desk, key)? else {
        return Ok(None);
    };
    let found = desk
        .connection
        .prepare_cached(
            "SELECT id, scope, expires_at, EXISTS (SELECT 1 FROM earlier WHERE earlier.key = ledger.key)
             FROM ledger WHERE no = ?1",
        )?
        .query_row([no], |row| {
            let orphan = Orphan {
                no,
                scope: row.get(1)?,
                expires_at: row.get(2)?,
            };
            Ok((id_at(row, 0), orphan, row.get::<_, bool>(3)?))
        })
        .optional()?;
    let Some((id, orphan, has_earlier)) = found else {
        return Ok(None);
    };
    let id: EventId = id?;
    let stored = has_earlier || find_event(desk.connection, id)?.is_some();
    Ok((!stored).then_some(orphan))
}

fn held_lanes(desk: &Desk<'_>, seq: i64) -> Result<Vec<(i64, String)>, Failure> {
    let mut select = desk.connection.prepare_cached(
        "SELECT destination, lane FROM outcomes WHERE seq = ?1 AND holds = 1 AND lane IS NOT NULL",
    )?;
    let rows = select.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

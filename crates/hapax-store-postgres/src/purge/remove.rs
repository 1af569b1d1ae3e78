//! What goes together: an event with its history, and later its ledger entry with its tallies.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::Timestamp;
use uuid::Uuid;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::lanes::{self, LaneName};
use crate::session::Session;
use crate::tallies::Tallies;

// Skipping what a replay or another purge holds: the next pass looks again.
const LOCK_EVENTS: &str = "
    SELECT e.bucket, e.id, e.key FROM hapax.events e
    WHERE e.bucket = ANY ($1::int2[]) AND e.id = ANY ($2::uuid[])
    ORDER BY e.bucket, e.id FOR UPDATE SKIP LOCKED";

// Asked again under the lock: a replay may have come between.
const MAY_GO: &str = "
    SELECT n.bucket, n.id
    FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, id)
    WHERE NOT EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = n.bucket AND w.id = n.id)
      AND NOT EXISTS (SELECT 1 FROM hapax.outcomes o
                      WHERE o.bucket = n.bucket AND o.id = n.id AND o.is_current AND o.state = 4
                        AND o.finished_at >= $3::int8)";

const LOCK_LEDGER: &str = "
    SELECT l.key FROM hapax.ledger l
    WHERE l.bucket = ANY ($1::int2[]) AND l.key = ANY ($2::uuid[])
    ORDER BY l.bucket, l.key FOR UPDATE";

const HELD_LANES: &str = "
    SELECT o.destination, o.lane FROM hapax.outcomes o
    WHERE o.bucket = ANY ($1::int2[]) AND o.id = ANY ($2::uuid[]) AND o.holds AND o.lane IS NOT NULL";

/// Everything of an event, its row last.
const DELETES: [&str; 5] = [
    "DELETE FROM hapax.outcomes WHERE bucket = ANY ($1::int2[]) AND id = ANY ($2::uuid[])",
    "DELETE FROM hapax.attempts WHERE bucket = ANY ($1::int2[]) AND id = ANY ($2::uuid[])",
    "DELETE FROM hapax.conflicts WHERE bucket = ANY ($1::int2[]) AND first = ANY ($2::uuid[])",
    "DELETE FROM hapax.same_body WHERE bucket = ANY ($1::int2[]) AND id = ANY ($2::uuid[])",
    "DELETE FROM hapax.events WHERE bucket = ANY ($1::int2[]) AND id = ANY ($2::uuid[])",
];

const DELETE_EARLIER: &str = "
    DELETE FROM hapax.earlier
    WHERE bucket = ANY ($1::int2[]) AND key = ANY ($2::uuid[]) AND id = ANY ($3::uuid[])";

// The ledger rows are locked, so that nobody is just taking one of the identities.
const ORPHAN: &str = "
    UPDATE hapax.ledger AS l SET stored = false
    WHERE l.bucket = ANY ($1::int2[]) AND l.key = ANY ($2::uuid[]) AND l.stored
      AND NOT EXISTS (SELECT 1 FROM hapax.events e WHERE e.bucket = l.bucket AND e.id = l.id)
      AND NOT EXISTS (SELECT 1 FROM hapax.earlier r WHERE r.bucket = l.bucket AND r.key = l.key)";

const EXPIRED: &str = "
    SELECT l.bucket, l.key, l.scope FROM hapax.ledger l
    WHERE NOT l.stored AND l.expires_at < $1::int8 ORDER BY l.expires_at LIMIT $2::int8
    FOR UPDATE SKIP LOCKED";

/// Everything of an identity.
const DELETE_IDENTITY: [&str; 3] = [
    "DELETE FROM hapax.duplicates WHERE bucket = ANY ($1::int2[]) AND key = ANY ($2::uuid[])",
    "DELETE FROM hapax.conflicts WHERE bucket = ANY ($1::int2[]) AND key = ANY ($2::uuid[])",
    "DELETE FROM hapax.ledger WHERE bucket = ANY ($1::int2[]) AND key = ANY ($2::uuid[])",
];

/// Deletes events with everything about them but their ledger entries; how many.
pub(super) async fn events(
    session: &Session,
    doomed: &[(i16, Uuid)],
    dead_before: Timestamp,
) -> Result<u64, Failure> {
    let buckets: Column<i16> = doomed.iter().map(|(bucket, _)| *bucket).collect();
    let ids: Column<Uuid> = doomed.iter().map(|(_, id)| *id).collect();
    let now = session.begin_at().await?;
    let mut keys: BTreeMap<(i16, Uuid), Uuid> = BTreeMap::new();
    for row in &session.rows(LOCK_EVENTS, bind![buckets, ids]).await? {
        keys.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    let buckets: Column<i16> = keys.keys().map(|(bucket, _)| *bucket).collect();
    let ids: Column<Uuid> = keys.keys().map(|(_, id)| *id).collect();
    let may_go: BTreeSet<(i16, Uuid)> = session
        .rows(MAY_GO, bind![buckets, ids, dead_before.as_micros()])
        .await?
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Failure>>()?;
    keys.retain(|name, _| may_go.contains(name));
    if keys.is_empty() {
        session.commit().await?;
        return Ok(0);
    }
    let buckets: Column<i16> = keys.keys().map(|(bucket, _)| *bucket).collect();
    let ids: Column<Uuid> = keys.keys().map(|(_, id)| *id).collect();
    let identities: Column<Uuid> = keys.values().copied().collect();
    session.execute(LOCK_LEDGER, bind![buckets, identities]).await?;
    let held: BTreeSet<LaneName> = session
        .rows(HELD_LANES, bind![buckets, ids])
        .await?
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Failure>>()?;
    lanes::lock(session, &held, now).await?;
    for sql in DELETES {
        session.execute(sql, bind![buckets, ids]).await?;
    }
    session
        .execute(DELETE_EARLIER, bind![buckets, identities, ids])
        .await?;
    session.execute(ORPHAN, bind![buckets, identities]).await?;
    // A dead head that goes must not leave its lane waiting for nobody.
    lanes::promote(session, &held, now).await?;
    let mut tallies = Tallies::default();
    tallies.events(-(keys.len() as i64));
    tallies.flush(session).await?;
    session.commit().await?;
    Ok(keys.len() as u64)
}

/// Deletes ledger entries that expired before a moment and whose events are gone; how many.
pub(super) async fn expired_ledger(
    session: &Session,
    (before, limit): &(Timestamp, u32),
) -> Result<u64, Failure> {
    if *limit == 0 {
        return Ok(0);
    }
    session.begin().await?;
    let rows = session
        .rows(EXPIRED, bind![before.as_micros(), i64::from(*limit)])
        .await?;
    if rows.is_empty() {
        session.commit().await?;
        return Ok(0);
    }
    let mut buckets = Column::<i16>::default();
    let mut keys = Column::<Uuid>::default();
    let mut tallies = Tallies::default();
    for row in &rows {
        buckets.push(row.try_get(0)?);
        keys.push(row.try_get(1)?);
        tallies.ledger(row.try_get(2)?, -1);
    }
    for sql in DELETE_IDENTITY {
        session.execute(sql, bind![buckets, keys]).await?;
    }
    tallies.flush(session).await?;
    session.commit().await?;
    Ok(rows.len() as u64)
}

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
    SELECT e.bucket, e.id, e.key FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, id)
    JOIN hapax.events e ON e.bucket = n.bucket AND e.id = n.id
    ORDER BY e.bucket, e.id FOR UPDATE OF e SKIP LOCKED";

// Asked again under the lock: a replay may have come between.
const MAY_GO: &str = "
    SELECT n.bucket, n.id
    FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, id)
    WHERE NOT EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = n.bucket AND w.id = n.id)
      AND NOT EXISTS (SELECT 1 FROM hapax.outcomes o
                      WHERE o.bucket = n.bucket AND o.id = n.id AND o.is_current AND o.state = 4
                        AND o.finished_at >= $3::int8)";

const LOCK_LEDGER: &str = "
    SELECT l.key FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, key)
    JOIN hapax.ledger l ON l.bucket = n.bucket AND l.key = n.key
    ORDER BY l.bucket, l.key FOR UPDATE OF l";

const HELD_LANES: &str = "
    SELECT o.destination, o.lane FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, id)
    JOIN hapax.outcomes o ON o.bucket = n.bucket AND o.id = n.id WHERE o.holds AND o.lane IS NOT NULL";

/// Deletes by bucket and one more column.
macro_rules! delete {
    ($table:literal, $column:literal) => {
        concat!(
            "DELETE FROM hapax.",
            $table,
            " AS t USING unnest($1::int2[], $2::uuid[]) AS n (bucket, name) WHERE t.bucket = n.bucket AND t.",
            $column,
            " = n.name"
        )
    };
}

/// Everything of an event, its row last.
const DELETES: [&str; 5] = [
    delete!("outcomes", "id"),
    delete!("attempts", "id"),
    delete!("conflicts", "first"),
    delete!("same_body", "id"),
    delete!("events", "id"),
];

const DELETE_EARLIER: &str = "
    DELETE FROM hapax.earlier AS t USING unnest($1::int2[], $2::uuid[], $3::uuid[]) AS n (bucket, key, id)
    WHERE t.bucket = n.bucket AND t.key = n.key AND t.id = n.id";

// The ledger rows are locked, so that nobody is just taking one of the identities.
const ORPHAN: &str = "
    UPDATE hapax.ledger AS l SET stored = false
    FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, key)
    WHERE l.bucket = n.bucket AND l.key = n.key AND l.stored
      AND NOT EXISTS (SELECT 1 FROM hapax.events e WHERE e.bucket = l.bucket AND e.id = l.id)
      AND NOT EXISTS (SELECT 1 FROM hapax.earlier r WHERE r.bucket = l.bucket AND r.key = l.key)";

const EXPIRED: &str = "
    SELECT l.bucket, l.key, l.scope FROM hapax.ledger l
    WHERE NOT l.stored AND l.expires_at < $1::int8 ORDER BY l.expires_at LIMIT $2::int8
    FOR UPDATE SKIP LOCKED";

/// Everything of an identity.
const DELETE_IDENTITY: [&str; 3] = [
    delete!("duplicates", "key"),
    delete!("conflicts", "key"),
    delete!("ledger", "key"),
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

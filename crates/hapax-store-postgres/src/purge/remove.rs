//! What goes together: an event with its history, and later its ledger entry with its tallies.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::Timestamp;
use uuid::Uuid;

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::lanes::{self, LaneName, Place};
use crate::session::Session;
use crate::tallies::Tallies;

// Skipping what a replay or another purge holds: the next pass looks again.
const LOCK_EVENTS: &str = "
    SELECT e.bucket, e.id, e.key FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
    ORDER BY e.bucket + 0, e.id FOR UPDATE OF e SKIP LOCKED";

// Dead letters that were discarded stay as well: they can be restored.
const MAY_GO: &str = "
    SELECT e.bucket, e.id FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
    WHERE NOT EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = {bucket} AND w.id = n.id)
      AND NOT EXISTS (SELECT 1 FROM hapax.outcomes o
                      WHERE o.bucket = {bucket} AND o.id = n.id AND o.is_current AND o.state >= 4
                        AND o.finished_at >= $3::int8)";

const LOCK_LEDGER: &str = "
    SELECT l.key FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
    ORDER BY l.bucket + 0, l.key FOR UPDATE OF l";

const HELD_PLACES: &str = "
    SELECT o.destination, o.lane, o.lane_order, o.bucket, o.id
    FROM {n} JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id WHERE o.holds AND o.lane IS NOT NULL";

/// Deletes by bucket and one more column.
macro_rules! delete {
    ($table:literal, $column:literal) => {
        concat!(
            "DELETE FROM hapax.",
            $table,
            " AS t USING {n} WHERE t.bucket = {bucket} AND t.",
            $column,
            " = n.id"
        )
    };
}

/// Everything of an event, its row last.
const DELETES: [&str; 7] = [
    delete!("outcomes", "id"),
    delete!("attempts", "id"),
    delete!("conflicts", "first"),
    delete!("same_body", "id"),
    delete!("noted", "id"),
    delete!("indexed", "id"),
    delete!("events", "id"),
];

const DELETE_EARLIER: &str = "
    DELETE FROM hapax.earlier AS t USING {n} WHERE t.bucket = {bucket} AND t.key = n.key AND t.id = n.id";

// The ledger rows are locked, so that nobody is just taking one of the identities.
const ORPHAN: &str = "
    UPDATE hapax.ledger AS l SET stored = false
    FROM {n} WHERE l.bucket = {bucket} AND l.key = n.key AND l.stored
      AND NOT EXISTS (SELECT 1 FROM hapax.events e WHERE e.bucket = {bucket} AND e.id = l.id)
      AND NOT EXISTS (SELECT 1 FROM hapax.earlier r WHERE r.bucket = {bucket} AND r.key = l.key)";

const EXPIRED: &str = "
    SELECT l.bucket, l.key FROM hapax.ledger l /* every bucket */
    WHERE NOT l.stored AND l.expires_at < $1::int8 ORDER BY l.expires_at LIMIT $2::int8";

// Asked again under the lock: a replay or an accept may have come between.
const LOCK_EXPIRED: &str = "
    SELECT l.bucket, l.key, l.scope FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.id
    WHERE NOT l.stored AND l.expires_at < $3::int8
    ORDER BY l.bucket + 0, l.key FOR UPDATE OF l SKIP LOCKED";

/// Everything of an identity.
const DELETE_IDENTITY: [&str; 3] = [
    delete!("duplicates", "key"),
    delete!("conflicts", "key"),
    delete!("ledger", "key"),
];

/// Those of these events that nothing keeps any more: no work, and no dead letter within its time.
pub(super) async fn may_go(
    session: &Session,
    events: &[(i16, Uuid)],
    dead_before: Timestamp,
) -> Result<BTreeSet<(i16, Uuid)>, Failure> {
    let batch = names(events.iter()).value(dead_before.as_micros());
    let rows = session.over(MAY_GO, &batch).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Deletes events with everything about them but their ledger entries; how many.
pub(super) async fn events(
    session: &Session,
    doomed: &[(i16, Uuid)],
    dead_before: Timestamp,
) -> Result<u64, Failure> {
    let now = session.begin_at().await?;
    let mut keys: BTreeMap<(i16, Uuid), Uuid> = BTreeMap::new();
    for row in &session.over(LOCK_EVENTS, &names(doomed.iter())).await? {
        keys.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    // Asked again under the lock: a replay may have come between.
    let locked: Vec<(i16, Uuid)> = keys.keys().copied().collect();
    let may_go = may_go(session, &locked, dead_before).await?;
    keys.retain(|name, _| may_go.contains(name));
    if keys.is_empty() {
        session.commit().await?;
        return Ok(0);
    }
    let identities =
        Batch::in_buckets(keys.keys().map(|(bucket, _)| *bucket)).column("key", keys.values().copied());
    session.write(LOCK_LEDGER, &identities).await?;
    let rows = session.over(HELD_PLACES, &names(keys.keys())).await?;
    let held: Vec<Place> = rows.iter().map(Place::read).collect::<Result<_, Failure>>()?;
    let lanes: BTreeSet<LaneName> = held.iter().map(|place| place.lane.clone()).collect();
    lanes::lock(session, &lanes, now).await?;
    for sql in DELETES {
        session.write(sql, &names(keys.keys())).await?;
    }
    let earlier = names(keys.keys()).column("key", keys.values().copied());
    session.write(DELETE_EARLIER, &earlier).await?;
    session.write(ORPHAN, &identities).await?;
    // A dead head that goes must not leave its lane waiting for nobody.
    lanes::leave(session, &held).await?;
    lanes::promote(session, &lanes, now).await?;
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
    let mut expired: Vec<(i16, Uuid)> = Vec::new();
    let (before, limit) = (before.as_micros(), i64::from(*limit));
    for row in &session.rows(EXPIRED, bind![before, limit]).await? {
        expired.push((row.try_get(0)?, row.try_get(1)?));
    }
    let mut tallies = Tallies::default();
    let mut doomed: Vec<(i16, Uuid)> = Vec::new();
    let batch = names(expired.iter()).value(before);
    for row in &session.over(LOCK_EXPIRED, &batch).await? {
        doomed.push((row.try_get(0)?, row.try_get(1)?));
        tallies.ledger(row.try_get(2)?, -1);
    }
    for sql in DELETE_IDENTITY {
        session.write(sql, &names(doomed.iter())).await?;
    }
    tallies.flush(session).await?;
    session.commit().await?;
    Ok(doomed.len() as u64)
}

fn names<'n>(rows: impl Iterator<Item = &'n (i16, Uuid)> + Clone) -> Batch<'n> {
    Batch::in_buckets(rows.clone().map(|(bucket, _)| *bucket)).column("id", rows.map(|(_, id)| *id))
}

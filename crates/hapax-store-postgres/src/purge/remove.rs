//! What is deleted together: an event with its history, and later its ledger entry with its tallies.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use hapax_core::Timestamp;
use uuid::Uuid;

use super::chunk::{Chunk, Seen, Slice};
use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::{self, Failure};
use crate::lanes::{self, LaneName, LanePosition};
use crate::session::Session;
use crate::tallies::Tallies;

// Skips rows that a replay or another purge has locked: that transaction deletes them, or the next pass checks again.
const LOCK_EVENTS: &str = "
    SELECT e.bucket, e.id, e.key FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
    ORDER BY e.bucket + 0, e.id FOR UPDATE OF e SKIP LOCKED";

// Discarded dead letters keep their event as well: they can be restored.
const STANDING: &str = "
    SELECT e.bucket, e.id,
           NOT EXISTS (SELECT 1 FROM hapax.work w WHERE w.bucket = {bucket} AND w.id = n.id)
           AND NOT EXISTS (SELECT 1 FROM hapax.outcomes o
                           WHERE o.bucket = {bucket} AND o.id = n.id AND o.is_current AND o.state + 0 >= 4
                             AND o.finished_at >= n.dead_before)
    FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id";

const LOCK_LEDGER: &str = "
    SELECT l.key FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
    ORDER BY l.bucket + 0, l.key FOR UPDATE OF l";

const HELD_PLACES: &str = "
    SELECT o.destination, o.lane, o.lane_order, o.bucket, o.id
    FROM {n} JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id WHERE o.holds AND o.lane IS NOT NULL";

/// Deletes by bucket and another column.
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

/// Everything that belongs to an event, its row last.
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

// The ledger rows are locked, so that nobody can take one of the identities.
const ORPHAN: &str = "
    UPDATE hapax.ledger AS l SET stored = false
    FROM {n} WHERE l.bucket = {bucket} AND l.key = n.key AND l.stored
      AND NOT EXISTS (SELECT 1 FROM hapax.events e WHERE e.bucket = {bucket} AND e.id = l.id)
      AND NOT EXISTS (SELECT 1 FROM hapax.earlier r WHERE r.bucket = {bucket} AND r.key = l.key)
    RETURNING l.expires_at";

// Skips entries that another purge is deleting, so that two purges divide the entries between them.
macro_rules! expired_ledger {
    ($only:literal) => {
        concat!(
            "
    SELECT l.bucket, l.key, l.scope, l.expires_at FROM hapax.ledger l
    WHERE NOT l.stored AND l.expires_at < $1::int8 AND l.expires_at >= $2::int8",
            $only,
            "
    ORDER BY l.expires_at LIMIT $3::int8 FOR UPDATE OF l SKIP LOCKED"
        )
    };
}

const EXPIRED_LEDGER: &str = expired_ledger!(" AND l.bucket % $4::int2 = $5::int2");
const EXPIRED_LEDGER_IN_BUCKET: &str = expired_ledger!(" AND l.bucket = $4::int2");

/// Everything that belongs to an identity.
const DELETE_IDENTITY: [&str; 3] = [
    delete!("duplicates", "key"),
    delete!("conflicts", "key"),
    delete!("ledger", "key"),
];

macro_rules! expired_bodies {
    ($only:literal) => {
        concat!(
            "
    SELECT b.bucket, b.scope, b.raw_hash, b.until FROM hapax.bodies b
    WHERE b.until < $1::int8 AND b.until >= $2::int8",
            $only,
            "
    ORDER BY b.until LIMIT $3::int8 FOR UPDATE OF b SKIP LOCKED"
        )
    };
}

const EXPIRED_BODIES: &str = expired_bodies!(" AND b.bucket % $4::int2 = $5::int2");
const EXPIRED_BODIES_IN_BUCKET: &str = expired_bodies!(" AND b.bucket = $4::int2");

const DELETE_BODIES: &str = "
    DELETE FROM hapax.bodies AS b
    USING {n} WHERE b.bucket = {bucket} AND b.scope = n.scope AND b.raw_hash = n.raw_hash";

/// An event that can be deleted, as far as is known.
pub(super) struct Doomed {
    pub(super) seen: Seen,
    pub(super) dead_before: Timestamp,
}

impl Doomed {
    pub(super) const fn name(&self) -> (i16, Uuid) {
        (self.seen.bucket, self.seen.id)
    }
}

/// Deleted events.
#[derive(Default)]
pub(super) struct Gone {
    pub(super) events: u64,
    /// Events that are locked by others or must stay after all.
    pub(super) held: Vec<Seen>,
    /// The earliest expiry of an entry whose last event was deleted.
    pub(super) orphans_from: Option<i64>,
}

/// Rows that had expired.
#[derive(Default)]
pub(super) struct Expired {
    pub(super) found: u64,
    /// The latest of their times.
    pub(super) reached: Option<i64>,
}

/// The subset of these events that are stored, and whether nothing keeps them: no unfinished delivery, and no dead
/// letter within its retention.
pub(super) async fn standing(
    session: &Session,
    events: &[Doomed],
) -> Result<BTreeMap<(i16, Uuid), bool>, Failure> {
    let batch = Batch::in_buckets(events.iter().map(|event| event.seen.bucket))
        .column("id", events.iter().map(|event| event.seen.id))
        .column(
            "dead_before",
            events.iter().map(|event| event.dead_before.as_micros()),
        );
    let rows = session.over(STANDING, &batch).await?;
    rows.iter()
        .map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?)))
        .collect()
}

/// Deletes events with everything but their ledger entries.
pub(super) async fn events(
    session: &Session,
    doomed: &[Doomed],
    now: Timestamp,
    tallies: &mut Tallies,
) -> Result<Gone, Failure> {
    let all: Vec<(i16, Uuid)> = doomed.iter().map(Doomed::name).collect();
    let mut keys: BTreeMap<(i16, Uuid), Uuid> = BTreeMap::new();
    for row in &session.over(LOCK_EVENTS, &names(all.iter())).await? {
        keys.insert((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?);
    }
    // Checked again under the lock: a replay may have come in between.
    let standing = standing(session, doomed).await?;
    keys.retain(|name, _| standing.get(name) == Some(&true));
    let held = doomed.iter().filter(|event| {
        let name = event.name();
        standing.contains_key(&name) && !keys.contains_key(&name)
    });
    let mut gone = Gone {
        held: held.map(|event| event.seen.clone()).collect(),
        ..Gone::default()
    };
    if keys.is_empty() {
        return Ok(gone);
    }
    let identities =
        Batch::in_buckets(keys.keys().map(|(bucket, _)| *bucket)).column("key", keys.values().copied());
    session.write(LOCK_LEDGER, &identities).await?;
    let rows = session.over(HELD_PLACES, &names(keys.keys())).await?;
    let places: Vec<LanePosition> = rows
        .iter()
        .map(LanePosition::read)
        .collect::<Result<_, Failure>>()?;
    let lanes: BTreeSet<LaneName> = places.iter().map(|place| place.lane.clone()).collect();
    lanes::lock(session, &lanes, now).await?;
    let events = names(keys.keys());
    write_all(session, &DELETES, &events).await?;
    let earlier = names(keys.keys()).column("key", keys.values().copied());
    session.write(DELETE_EARLIER, &earlier).await?;
    for row in &session.over(ORPHAN, &identities).await? {
        let expires_at: i64 = row.try_get(0)?;
        gone.orphans_from = Some(
            gone.orphans_from
                .map_or(expires_at, |least| least.min(expires_at)),
        );
    }
    // Deleting a dead head must not leave its lane blocked forever.
    lanes::leave(session, &places).await?;
    lanes::promote(session, &lanes, now).await?;
    tallies.events(-(keys.len() as i64));
    gone.events = keys.len() as u64;
    Ok(gone)
}

/// Deletes ledger entries that have expired and have no stored events.
pub(super) async fn expired_ledger(
    session: &Session,
    chunk: &Chunk,
    tallies: &mut Tallies,
) -> Result<Expired, Failure> {
    let mut expired = Expired::default();
    if chunk.ledger_max == 0 {
        return Ok(expired);
    }
    let (before, limit) = (chunk.ledger_before.as_micros(), i64::from(chunk.ledger_max));
    let rows = match chunk.slice {
        Slice::Every { of, rest } => {
            let params = bind![before, chunk.ledger_from, limit, of, rest];
            session.rows(EXPIRED_LEDGER, params).await?
        }
        Slice::Bucket(bucket) => {
            let params = bind![before, chunk.ledger_from, limit, bucket];
            session.rows(EXPIRED_LEDGER_IN_BUCKET, params).await?
        }
    };
    let mut doomed: Vec<(i16, Uuid)> = Vec::with_capacity(rows.len());
    for row in &rows {
        doomed.push((row.try_get(0)?, row.try_get(1)?));
        tallies.ledger(row.try_get(2)?, -1);
        expired.reached = expired.reached.max(Some(row.try_get(3)?));
    }
    expired.found = doomed.len() as u64;
    write_all(session, &DELETE_IDENTITY, &names(doomed.iter())).await?;
    Ok(expired)
}

/// Deletes expired bodies.
pub(super) async fn expired_bodies(
    session: &Session,
    chunk: &Chunk,
    now: Timestamp,
) -> Result<Expired, Failure> {
    let mut expired = Expired::default();
    if chunk.bodies_max == 0 {
        return Ok(expired);
    }
    let (before, limit) = (now.as_micros(), i64::from(chunk.bodies_max));
    let rows = match chunk.slice {
        Slice::Every { of, rest } => {
            let params = bind![before, chunk.bodies_from, limit, of, rest];
            session.rows(EXPIRED_BODIES, params).await?
        }
        Slice::Bucket(bucket) => {
            let params = bind![before, chunk.bodies_from, limit, bucket];
            session.rows(EXPIRED_BODIES_IN_BUCKET, params).await?
        }
    };
    let mut doomed: Vec<(i16, String, Vec<u8>)> = Vec::with_capacity(rows.len());
    for row in &rows {
        doomed.push((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?));
        expired.reached = expired.reached.max(Some(row.try_get(3)?));
    }
    expired.found = doomed.len() as u64;
    let batch = Batch::in_buckets(doomed.iter().map(|(bucket, ..)| *bucket))
        .column("scope", doomed.iter().map(|(_, scope, _)| scope.as_str()))
        .column("raw_hash", doomed.iter().map(|(.., hash)| hash.as_slice()));
    session.write(DELETE_BODIES, &batch).await?;
    Ok(expired)
}

/// Pipelines statements over the same rows.
async fn write_all(session: &Session, texts: &[&'static str], batch: &Batch<'_>) -> Result<(), Failure> {
    let writes = texts.iter().copied().map(|text| session.write(text, batch));
    failure::all(join_all(writes).await).map(drop)
}

/// Names of rows, for a statement over them.
fn names<'n>(rows: impl Iterator<Item = &'n (i16, Uuid)> + Clone) -> Batch<'n> {
    Batch::in_buckets(rows.clone().map(|(bucket, _)| *bucket)).column("id", rows.map(|(_, id)| *id))
}

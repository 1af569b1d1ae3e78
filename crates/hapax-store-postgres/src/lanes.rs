//! Lanes: deliveries of one destination and key that run one at a time, in order of acceptance,
//! across replicas.
//!
//! Whoever adds to a lane or ends its head holds the lane's row. The order is a number of the
//! store-wide sequence, taken under that lock when the event was accepted, so that a later number was
//! given later; a replay keeps it. Only one is due or runs; the others wait. A dead head that holds its
//! lane has left the work and keeps its place, and nothing is promoted past it.
//!
//! Places are in the lane's bucket, whichever the events' are: a lane's lock and its places change in
//! one commit on one server, so that whoever has the lock knows who is in the lane.

mod positions;

use std::collections::BTreeSet;

use hapax_core::Timestamp;
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::rows::bucket_by;
use crate::session::Session;

pub(crate) use positions::{LanePosition, Standing, join, leave, stand};

/// A lane's name: destination and key.
pub(crate) type LaneName = (String, String);

// In one order for everyone: two that lock the same lanes never wait for each other in a ring.
const LOCK: &str = "
    INSERT INTO hapax.lanes {sorted rows}
    ON CONFLICT (bucket, destination, lane) DO UPDATE SET used_at = excluded.used_at";

const TAKEN: &str = "
    SELECT DISTINCT p.destination, p.lane
    FROM {n} JOIN hapax.places p ON p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane";

// Those that wait, each with who has the turn before its time.
const HEADS: &str = "
    SELECT p.destination, p.lane, p.lane_order, p.event_bucket, p.event, t.lane_order, t.event_bucket, t.event
    FROM {n} CROSS JOIN LATERAL (SELECT * FROM hapax.places p
                                 WHERE p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane
                                 ORDER BY p.lane_order LIMIT 1) AS p
    LEFT JOIN LATERAL (SELECT * FROM hapax.places t
                       WHERE t.bucket = {bucket} AND t.destination = n.destination AND t.lane = n.lane
                         AND t.standing = 1 LIMIT 1) AS t ON true
    WHERE p.standing = 0";

// Whoever leases it now has it first: then it is not pending any more.
const GIVE_WAY: &str = "
    UPDATE hapax.work AS w SET class = 3
    FROM {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination AND w.state = 0
    RETURNING w.id, w.destination";

// Fresh, or suspect where a lease was lost.
const WAKE: &str = "
    UPDATE hapax.work AS w SET class = CASE WHEN w.lost = 0 THEN 0 ELSE 2 END, wake_at = $4::int8
    FROM {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination AND w.class + 0 = 3
    RETURNING w.id";

/// Locks lanes until the transaction ends.
pub(crate) async fn lock(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
    now: Timestamp,
) -> Result<(), Failure> {
    session
        .write(LOCK, &batch(lanes).same("used_at", now.as_micros()))
        .await
}

/// Those of the locked lanes in which something is, so that a newcomer waits.
pub(crate) async fn taken(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
) -> Result<BTreeSet<LaneName>, Failure> {
    names(&session.over(TAKEN, &batch(lanes)).await?)
}

/// Gives the turn to the first of each locked lane, unless that is dead and holds it, or another has the turn and was
/// tried. One that is due and was not tried gives way.
pub(crate) async fn promote(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
    now: Timestamp,
) -> Result<(), Failure> {
    let mut heads = Vec::new();
    let mut turns = Vec::new();
    for row in &session.over(HEADS, &batch(lanes)).await? {
        let head = LanePosition::read(row)?;
        if let Some(order) = row.try_get(5)? {
            turns.push(LanePosition {
                lane: head.lane.clone(),
                order,
                event_bucket: row.try_get(6)?,
                event: row.try_get(7)?,
            });
        }
        heads.push(head);
    }
    let kept = give_way(session, turns).await?;
    heads.retain(|head| !kept.contains(&head.lane));
    stand(session, &heads, Standing::Awake).await?;
    let woken = session.over(WAKE, &work(&heads).value(now.as_micros())).await?;
    // Its server may not have committed the newcomer yet, although the lane's has.
    if woken.len() < heads.len() {
        return Err(Failure::Moved);
    }
    Ok(())
}

/// Takes the turn from those that have it; the lanes of those that keep it.
async fn give_way(session: &Session, turns: Vec<LanePosition>) -> Result<BTreeSet<LaneName>, Failure> {
    let rows = session.over(GIVE_WAY, &work(&turns)).await?;
    let gave_way: BTreeSet<(Uuid, String)> = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Failure>>()?;
    let (waiting, kept): (Vec<LanePosition>, Vec<LanePosition>) = turns
        .into_iter()
        .partition(|turn| gave_way.contains(&(turn.event, turn.lane.0.clone())));
    stand(session, &waiting, Standing::Waiting).await?;
    Ok(kept.into_iter().map(|turn| turn.lane).collect())
}

/// The work of those who have places.
fn work(places: &[LanePosition]) -> Batch<'_> {
    Batch::in_buckets(places.iter().map(|place| place.event_bucket))
        .column("id", places.iter().map(|place| place.event))
        .column("destination", places.iter().map(|place| place.lane.0.as_str()))
}

/// Lanes from rows whose first columns are destination and key.
pub(crate) fn names(rows: &[tokio_postgres::Row]) -> Result<BTreeSet<LaneName>, Failure> {
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

fn bucket((destination, lane): &LaneName) -> i16 {
    bucket_by(&[destination.as_bytes(), lane.as_bytes()])
}

/// Lanes as rows, in the order in which they are locked.
fn batch(lanes: &BTreeSet<LaneName>) -> Batch<'_> {
    let mut named: Vec<(i16, &LaneName)> = lanes.iter().map(|name| (bucket(name), name)).collect();
    named.sort_unstable();
    Batch::in_buckets(named.iter().map(|(bucket, _)| *bucket))
        .column("destination", named.iter().map(|(_, name)| name.0.as_str()))
        .column("lane", named.iter().map(|(_, name)| name.1.as_str()))
}

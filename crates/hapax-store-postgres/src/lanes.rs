//! Lanes: deliveries of one destination and key that run one at a time, in order of acceptance, across replicas.
//!
//! A transaction that adds to a lane or ends its head locks the lane's row. The order is a number from the store-wide
//! sequence, drawn under that lock when the event was accepted, so that numbers follow the order of acceptance; a
//! replay keeps it. Only one delivery is due or running; the others wait. A dead head that holds its lane is no longer
//! among the unfinished deliveries but keeps its position, and nothing is promoted past it.
//!
//! Positions are stored in the lane's bucket, whichever buckets the events are in: a lane's lock and its positions
//! change in one commit on one server, so that the holder of the lock sees everything in the lane.

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

// A global order: transactions that lock the same lanes never deadlock.
const LOCK: &str = "
    INSERT INTO hapax.lanes {sorted rows}
    ON CONFLICT (bucket, destination, lane) DO UPDATE SET used_at = excluded.used_at";

const TAKEN: &str = "
    SELECT DISTINCT p.destination, p.lane
    FROM {n} JOIN hapax.places p ON p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane";

// Waiting heads of lanes, each with the later delivery that has the turn.
const HEADS: &str = "
    SELECT p.destination, p.lane, p.lane_order, p.event_bucket, p.event, t.lane_order, t.event_bucket, t.event
    FROM {n} CROSS JOIN LATERAL (SELECT * FROM hapax.places p
                                 WHERE p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane
                                 ORDER BY p.lane_order LIMIT 1) AS p
    LEFT JOIN LATERAL (SELECT * FROM hapax.places t
                       WHERE t.bucket = {bucket} AND t.destination = n.destination AND t.lane = n.lane
                         AND t.standing = 1 LIMIT 1) AS t ON true
    WHERE p.standing = 0";

// A concurrent lease wins: the delivery is then no longer pending.
const GIVE_WAY: &str = "
    UPDATE hapax.work AS w SET class = 3
    FROM {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination AND w.state = 0
    RETURNING w.id, w.destination";

// Fresh, or suspect if a lease was lost.
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

/// The locked lanes that are occupied, so that a new delivery waits.
pub(crate) async fn taken(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
) -> Result<BTreeSet<LaneName>, Failure> {
    names(&session.over(TAKEN, &batch(lanes)).await?)
}

/// Gives the turn to the first delivery of each locked lane, unless a dead delivery before it holds the lane, or
/// another delivery has the turn and has been attempted. A delivery that is due but was never attempted gives way.
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
    // The event's server may not have committed the new delivery yet, although the lane's server has.
    if woken.len() < heads.len() {
        return Err(Failure::Moved);
    }
    Ok(())
}

/// Takes the turn from the deliveries that have it. Returns the lanes of those that keep it.
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

/// The delivery rows for these positions.
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

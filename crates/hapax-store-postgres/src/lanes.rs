//! Lanes: deliveries of one destination and key that run one at a time, in order of acceptance,
//! across replicas.
//!
//! Whoever adds to a lane or ends its head holds the lane's row. The order is a number of the
//! store-wide sequence, taken under that lock, so that a later number was given later. Only the head
//! is due; the others wait. A dead head that holds its lane has left the work and keeps its place,
//! and nothing is promoted past it.
//!
//! Places are in the lane's bucket, whichever the events' are: a lane's lock and its places change in
//! one commit on one server, so that whoever has the lock knows who is in the lane.

mod places;

use std::collections::BTreeSet;

use hapax_core::Timestamp;

use crate::batch::Batch;
use crate::failure::Failure;
use crate::rows::bucket_by;
use crate::session::Session;

pub(crate) use places::{Place, Standing, join, leave, stand};

/// A lane's name: destination and key.
pub(crate) type LaneName = (String, String);

// In one order for everybody: two that lock the same lanes never wait for each other in a ring.
const LOCK: &str = "
    INSERT INTO hapax.lanes {sorted rows}
    ON CONFLICT (bucket, destination, lane) DO UPDATE SET used_at = excluded.used_at";

const TAKEN: &str = "
    SELECT DISTINCT p.destination, p.lane
    FROM {n} JOIN hapax.places p ON p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane";

const HEADS: &str = "
    SELECT p.destination, p.lane, p.lane_order, p.event_bucket, p.event
    FROM {n} CROSS JOIN LATERAL (SELECT * FROM hapax.places p
                                 WHERE p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane
                                 ORDER BY p.lane_order LIMIT 1) AS p
    WHERE p.standing = 0";

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

/// Makes the next of each locked lane due, unless a dead head holds it or the head is due or
/// running already.
pub(crate) async fn promote(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
    now: Timestamp,
) -> Result<(), Failure> {
    let rows = session.over(HEADS, &batch(lanes)).await?;
    let heads: Vec<Place> = rows.iter().map(Place::read).collect::<Result<_, Failure>>()?;
    stand(session, &heads, Standing::Awake).await?;
    let work = Batch::in_buckets(heads.iter().map(|head| head.event_bucket))
        .column("id", heads.iter().map(|head| head.event))
        .column("destination", heads.iter().map(|head| head.lane.0.as_str()))
        .value(now.as_micros());
    let woken = session.over(WAKE, &work).await?;
    // Its server may not have committed the newcomer yet, although the lane's has.
    if woken.len() < heads.len() {
        return Err(Failure::Moved);
    }
    Ok(())
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

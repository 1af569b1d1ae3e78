//! Lanes: deliveries of one destination and key that run one at a time, in order of acceptance,
//! across replicas.
//!
//! Whoever adds to a lane or ends its head holds the lane's row. The order is a number of the
//! store-wide sequence, taken under that lock, so that a later number was given later. Only the head
//! is due; the others wait. A dead head that holds its lane has left the work, but its outcome says
//! so, and nothing is promoted past it.

use std::collections::BTreeSet;

use hapax_core::Timestamp;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::rows::{Class, bucket_by, count_at};
use crate::session::Session;

/// A lane's name: destination and key.
pub(crate) type LaneName = (String, String);

// In one order for everybody: two that lock the same lanes never wait for each other in a ring.
const LOCK: &str = "
    INSERT INTO hapax.lanes AS l (bucket, destination, lane, used_at)
    SELECT n.bucket, n.destination, n.lane, $4::int8
    FROM unnest($1::int2[], $2::text[], $3::text[]) WITH ORDINALITY AS n (bucket, destination, lane, place)
    ORDER BY n.place
    ON CONFLICT (bucket, destination, lane) DO UPDATE SET used_at = excluded.used_at";

const TAKEN: &str = "
    SELECT n.destination, n.lane
    FROM unnest($1::text[], $2::text[]) AS n (destination, lane)
    WHERE EXISTS (SELECT 1 FROM hapax.work w WHERE w.destination = n.destination AND w.lane = n.lane)
       OR EXISTS (SELECT 1 FROM hapax.outcomes o
                  WHERE o.holds AND o.destination = n.destination AND o.lane = n.lane)";

const HEADS: &str = "
    SELECT w.bucket, w.id, w.destination, w.lost
    FROM unnest($1::text[], $2::text[]) AS n (destination, lane)
    CROSS JOIN LATERAL (SELECT bucket, id, destination, lost, class FROM hapax.work w
                        WHERE w.destination = n.destination AND w.lane = n.lane
                        ORDER BY lane_order LIMIT 1) AS w
    WHERE w.class = 3
      AND NOT EXISTS (SELECT 1 FROM hapax.outcomes o
                      WHERE o.holds AND o.destination = n.destination AND o.lane = n.lane)";

const WAKE: &str = "
    UPDATE hapax.work AS w SET class = n.class, wake_at = $5::int8
    FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::int2[]) AS n (bucket, id, destination, class)
    WHERE w.bucket = n.bucket AND w.id = n.id AND w.destination = n.destination AND w.class = 3";

/// Locks lanes until the transaction ends.
pub(crate) async fn lock(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
    now: Timestamp,
) -> Result<(), Failure> {
    if lanes.is_empty() {
        return Ok(());
    }
    let mut named: Vec<(i16, &LaneName)> = lanes.iter().map(|name| (bucket(name), name)).collect();
    named.sort_unstable();
    let buckets: Column<i16> = named.iter().map(|(bucket, _)| *bucket).collect();
    let destinations: Column<&str> = named.iter().map(|(_, name)| name.0.as_str()).collect();
    let keys: Column<&str> = named.iter().map(|(_, name)| name.1.as_str()).collect();
    session
        .execute(LOCK, bind![buckets, destinations, keys, now.as_micros()])
        .await
}

/// Those of the locked lanes in which something is, so that a newcomer waits.
pub(crate) async fn taken(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
) -> Result<BTreeSet<LaneName>, Failure> {
    if lanes.is_empty() {
        return Ok(BTreeSet::new());
    }
    let (destinations, keys) = columns(lanes);
    let rows = session.rows(TAKEN, bind![destinations, keys]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Makes the next of each locked lane due, unless a dead head holds it or the head is due or
/// running already.
pub(crate) async fn promote(
    session: &Session,
    lanes: &BTreeSet<LaneName>,
    now: Timestamp,
) -> Result<(), Failure> {
    if lanes.is_empty() {
        return Ok(());
    }
    let (destinations, keys) = columns(lanes);
    let rows = session.rows(HEADS, bind![destinations, keys]).await?;
    let mut buckets = Column::<i16>::default();
    let mut ids = Column::<uuid::Uuid>::default();
    let mut destinations = Column::<String>::default();
    let mut classes = Column::<i16>::default();
    for row in &rows {
        buckets.push(row.try_get(0)?);
        ids.push(row.try_get(1)?);
        destinations.push(row.try_get(2)?);
        classes.push(Class::due(count_at(row, 3)?).code());
    }
    if buckets.is_empty() {
        return Ok(());
    }
    session
        .execute(WAKE, bind![buckets, ids, destinations, classes, now.as_micros()])
        .await
}

fn bucket((destination, lane): &LaneName) -> i16 {
    bucket_by(&[destination.as_bytes(), lane.as_bytes()])
}

fn columns(lanes: &BTreeSet<LaneName>) -> (Column<&str>, Column<&str>) {
    (
        lanes
            .iter()
            .map(|(destination, _)| destination.as_str())
            .collect(),
        lanes.iter().map(|(_, lane)| lane.as_str()).collect(),
    )
}

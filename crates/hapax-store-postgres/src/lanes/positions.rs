//! Positions in lanes. All of this happens under the lane's lock.

use tokio_postgres::Row;
use uuid::Uuid;

use super::{LaneName, bucket};
use crate::batch::Batch;
use crate::failure::Failure;
use crate::session::Session;

const INSERT: &str = "INSERT INTO hapax.places {rows}";

const UPDATE: &str = "
    UPDATE hapax.places AS p SET standing = $5::int2
    FROM {n} WHERE p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane
      AND p.lane_order = n.lane_order";

const DELETE: &str = "
    DELETE FROM hapax.places AS p
    USING {n} WHERE p.bucket = {bucket} AND p.destination = n.destination AND p.lane = n.lane
      AND p.lane_order = n.lane_order";

/// A delivery's position.
#[derive(Clone, Debug)]
pub(crate) struct LanePosition {
    pub(crate) lane: LaneName,
    pub(crate) order: i64,
    pub(crate) event_bucket: i16,
    pub(crate) event: Uuid,
}

/// The state of the delivery at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Waiting,
    Awake,
    Holding,
}

impl Standing {
    const fn code(self) -> i16 {
        match self {
            Self::Waiting => 0,
            Self::Awake => 1,
            Self::Holding => 2,
        }
    }
}

impl LanePosition {
    /// A position. The columns are destination, lane, order, and the event's bucket and id.
    pub(crate) fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            lane: (row.try_get(0)?, row.try_get(1)?),
            order: row.try_get(2)?,
            event_bucket: row.try_get(3)?,
            event: row.try_get(4)?,
        })
    }
}

/// Adds new positions.
pub(crate) async fn join(session: &Session, places: &[(LanePosition, Standing)]) -> Result<(), Failure> {
    let rows = || places.iter().map(|(place, _)| place);
    let batch = batch(rows())
        .column("standing", places.iter().map(|(_, standing)| standing.code()))
        .column("event_bucket", rows().map(|place| place.event_bucket))
        .column("event", rows().map(|place| place.event));
    session.write(INSERT, &batch).await
}

/// Changes the state at positions.
pub(crate) async fn stand(
    session: &Session,
    places: &[LanePosition],
    standing: Standing,
) -> Result<(), Failure> {
    session
        .write(UPDATE, &batch(places.iter()).value(standing.code()))
        .await
}

/// Deletes positions. A position that does not exist is ignored.
pub(crate) async fn leave(session: &Session, places: &[LanePosition]) -> Result<(), Failure> {
    session.write(DELETE, &batch(places.iter())).await
}

fn batch<'p>(places: impl Iterator<Item = &'p LanePosition> + Clone) -> Batch<'p> {
    Batch::in_buckets(places.clone().map(|place| bucket(&place.lane)))
        .column("destination", places.clone().map(|place| place.lane.0.as_str()))
        .column("lane", places.clone().map(|place| place.lane.1.as_str()))
        .column("lane_order", places.map(|place| place.order))
}

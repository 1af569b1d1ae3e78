//! How an unfinished delivery becomes an outcome, whatever ended it.

use std::collections::BTreeSet;

use futures_util::future::join;
use hapax_core::{DeliveryState, ErrorClass, OnDead, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::{self, Failure};
use crate::lanes::{self, LaneName, LanePosition, Standing};
use crate::rows::{count_at, on_dead_code, state_code};
use crate::session::{Numbers, Session};

/// The columns that [`WorkRow::read`] reads.
macro_rules! work_row {
    () => {
        "w.bucket, w.id, w.destination, w.token, w.attempts, w.lost, w.generation, w.accepted_at,
         w.idempotency_key, w.lane, w.lane_order, w.on_dead, w.replay"
    };
}
pub(crate) use work_row;

const DELETE_WORK: &str = "
    DELETE FROM hapax.work AS w
    USING {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination";

const INSERT_OUTCOMES: &str = "INSERT INTO hapax.outcomes {rows}";

/// A delivery's row as it moves between tables.
#[derive(Clone, Debug)]
pub(crate) struct WorkRow {
    pub(crate) bucket: i16,
    pub(crate) id: Uuid,
    pub(crate) destination: String,
    pub(crate) token: i64,
    pub(crate) attempts: u32,
    pub(crate) lost: u32,
    pub(crate) generation: i64,
    pub(crate) accepted_at: i64,
    pub(crate) idempotency_key: Uuid,
    pub(crate) lane: Option<String>,
    pub(crate) lane_order: Option<i64>,
    pub(crate) on_dead: Option<i16>,
    pub(crate) replay: Option<Uuid>,
}

impl WorkRow {
    pub(crate) fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            bucket: row.try_get(0)?,
            id: row.try_get(1)?,
            destination: row.try_get(2)?,
            token: row.try_get(3)?,
            attempts: count_at(row, 4)?,
            lost: count_at(row, 5)?,
            generation: row.try_get(6)?,
            accepted_at: row.try_get(7)?,
            idempotency_key: row.try_get(8)?,
            lane: row.try_get(9)?,
            lane_order: row.try_get(10)?,
            on_dead: row.try_get(11)?,
            replay: row.try_get(12)?,
        })
    }

    /// Its lane's name.
    pub(crate) fn lane_name(&self) -> Option<LaneName> {
        Some((self.destination.clone(), self.lane.clone()?))
    }

    /// Its position in its lane.
    pub(crate) fn place(&self) -> Option<LanePosition> {
        Some(LanePosition {
            lane: self.lane_name()?,
            order: self.lane_order?,
            event_bucket: self.bucket,
            event: self.id,
        })
    }

    /// Whether it blocks its lane when it dies.
    fn holds_when_dead(&self) -> bool {
        self.lane.is_some() && self.on_dead == Some(on_dead_code(OnDead::Hold))
    }
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    Completed,
    Dead(ErrorClass),
    /// Dead from the start because of its event's body; it was never in its lane.
    Held,
    Discarded,
}

/// Removes locked deliveries from the unfinished ones, stores their outcomes under their tokens, and lets their lanes
/// continue where possible. Needs one number per delivery.
pub(crate) async fn conclude(
    session: &Session,
    ended: &[(WorkRow, Ending)],
    numbers: &mut Numbers,
    now: Timestamp,
) -> Result<(), Failure> {
    let mut endings = Vec::with_capacity(ended.len());
    let mut left = Vec::new();
    let mut held = Vec::new();
    for (row, ending) in ended {
        let (state, error, holds) = match ending {
            Ending::Completed => (DeliveryState::Completed, None, false),
            Ending::Dead(class) => (DeliveryState::Dead, Some(class.as_str()), row.holds_when_dead()),
            Ending::Held => (DeliveryState::Dead, Some(ErrorClass::SameBody.as_str()), false),
            Ending::Discarded => (DeliveryState::Discarded, None, false),
        };
        match ending {
            Ending::Completed | Ending::Dead(_) | Ending::Discarded => {
                if holds { &mut held } else { &mut left }.extend(row.place());
            }
            Ending::Held => {}
        }
        endings.push((state_code(state), error, holds, numbers.next()?));
    }
    let rows = || ended.iter().map(|(row, _)| row);
    let names = || {
        Batch::in_buckets(rows().map(|row| row.bucket))
            .column("id", rows().map(|row| row.id))
            .column("destination", rows().map(|row| row.destination.as_str()))
    };
    let work = names();
    let outcomes = names()
        .column("token", rows().map(|row| row.token))
        .column("state", endings.iter().map(|ending| ending.0))
        .same("is_current", true)
        .column("holds", endings.iter().map(|ending| ending.2))
        .column("attempts", rows().map(|row| i64::from(row.attempts)))
        .column("lost", rows().map(|row| i64::from(row.lost)))
        .same("finished_at", now.as_micros())
        .column("finished_no", endings.iter().map(|ending| ending.3))
        .column("generation", rows().map(|row| row.generation))
        .column("accepted_at", rows().map(|row| row.accepted_at))
        .column("idempotency_key", rows().map(|row| row.idempotency_key))
        .column("error", endings.iter().map(|ending| ending.1))
        .column("lane", rows().map(|row| row.lane.as_deref()))
        .column("lane_order", rows().map(|row| row.lane_order))
        .column("on_dead", rows().map(|row| row.on_dead))
        .column("replay", rows().map(|row| row.replay));
    let (deleted, kept) = join(
        session.write(DELETE_WORK, &work),
        session.write(INSERT_OUTCOMES, &outcomes),
    )
    .await;
    failure::all(vec![deleted, kept])?;
    lanes::stand(session, &held, Standing::Holding).await?;
    lanes::leave(session, &left).await?;
    // Includes lanes that are held: replays in front of the holder continue.
    let freed: BTreeSet<LaneName> = left.into_iter().chain(held).map(|place| place.lane).collect();
    lanes::promote(session, &freed, now).await
}

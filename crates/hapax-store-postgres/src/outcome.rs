//! How unfinished work becomes an outcome, whoever ended it.

use std::collections::BTreeSet;

use hapax_core::store::ReplayJobId;
use hapax_core::{DeliveryState, ErrorClass, EventId, OnDead, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::lanes::{self, LaneName};
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
    USING unnest($1::int2[], $2::uuid[], $3::text[]) AS n (bucket, id, destination)
    WHERE w.bucket = n.bucket AND w.id = n.id AND w.destination = n.destination";

const INSERT_OUTCOMES: &str = "
    INSERT INTO hapax.outcomes (bucket, id, destination, token, state, is_current, holds, attempts, lost, finished_at,
                                finished_no, generation, accepted_at, idempotency_key, error, lane, lane_order,
                                on_dead, replay)
    SELECT n.bucket, n.id, n.destination, n.token, n.state, true, n.holds, n.attempts, n.lost, $18::int8,
           n.finished_no, n.generation, n.accepted_at, n.idempotency_key, n.error, n.lane, n.lane_order,
           n.on_dead, n.replay
    FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::int8[], $5::int2[], $6::bool[], $7::int8[], $8::int8[],
                $9::int8[], $10::int8[], $11::int8[], $12::uuid[], $13::text[], $14::text[], $15::int8[],
                $16::int2[], $17::uuid[])
         AS n (bucket, id, destination, token, state, holds, attempts, lost, finished_no, generation, accepted_at,
               idempotency_key, error, lane, lane_order, on_dead, replay)";

/// A delivery's row, as it goes from table to table.
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

    /// The bulk replay that put it back.
    pub(crate) fn job(&self) -> Option<ReplayJobId> {
        let id = self.replay?;
        Some(ReplayJobId(EventId::from_bytes(*id.as_bytes())))
    }

    /// Its lane's name.
    pub(crate) fn lane_name(&self) -> Option<LaneName> {
        Some((self.destination.clone(), self.lane.clone()?))
    }

    /// Whether it keeps its lane waiting when it dies.
    fn holds_when_dead(&self) -> bool {
        self.lane.is_some() && self.on_dead == Some(on_dead_code(OnDead::Hold))
    }
}

/// How a delivery ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    Completed,
    Dead(ErrorClass),
}

/// Takes locked deliveries out of the work, keeps their outcomes under the tokens they have, and lets
/// their lanes go on where they may. Needs one number for each.
pub(crate) async fn conclude(
    session: &Session,
    ended: &[(WorkRow, Ending)],
    numbers: &mut Numbers,
    now: Timestamp,
) -> Result<(), Failure> {
    if ended.is_empty() {
        return Ok(());
    }
    let mut states = Column::<i16>::default();
    let mut errors = Column::<Option<&str>>::default();
    let mut holds = Column::<bool>::default();
    let mut finished = Column::<i64>::default();
    let mut freed = BTreeSet::new();
    for (row, ending) in ended {
        let (state, error, holding) = match ending {
            Ending::Completed => (DeliveryState::Completed, None, false),
            Ending::Dead(class) => (DeliveryState::Dead, Some(class.as_str()), row.holds_when_dead()),
        };
        states.push(state_code(state));
        errors.push(error);
        holds.push(holding);
        finished.push(numbers.next()?);
        if !holding {
            freed.extend(row.lane_name());
        }
    }
    let rows = || ended.iter().map(|(row, _)| row);
    let buckets: Column<i16> = rows().map(|row| row.bucket).collect();
    let ids: Column<Uuid> = rows().map(|row| row.id).collect();
    let destinations: Column<&str> = rows().map(|row| row.destination.as_str()).collect();
    session
        .execute(DELETE_WORK, bind![buckets, ids, destinations])
        .await?;
    session
        .execute(
            INSERT_OUTCOMES,
            bind![
                buckets,
                ids,
                destinations,
                rows().map(|row| row.token).collect::<Column<i64>>(),
                states,
                holds,
                rows().map(|row| i64::from(row.attempts)).collect::<Column<i64>>(),
                rows().map(|row| i64::from(row.lost)).collect::<Column<i64>>(),
                finished,
                rows().map(|row| row.generation).collect::<Column<i64>>(),
                rows().map(|row| row.accepted_at).collect::<Column<i64>>(),
                rows().map(|row| row.idempotency_key).collect::<Column<Uuid>>(),
                errors,
                rows()
                    .map(|row| row.lane.as_deref())
                    .collect::<Column<Option<&str>>>(),
                rows().map(|row| row.lane_order).collect::<Column<Option<i64>>>(),
                rows().map(|row| row.on_dead).collect::<Column<Option<i16>>>(),
                rows().map(|row| row.replay).collect::<Column<Option<Uuid>>>(),
                now.as_micros(),
            ],
        )
        .await?;
    lanes::promote(session, &freed, now).await
}

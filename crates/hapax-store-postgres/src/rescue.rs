//! Taking back deliveries whose lease has expired or whose owner is dead. Several replicas may try at once; each loss
//! counts once.

use std::collections::BTreeSet;

use hapax_core::store::{LOST_MAX, Rescued};
use hapax_core::{DeliveryState, ErrorClass, EventId, Owner, Timestamp};

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::lanes::{self, LaneName};
use crate::outcome::{Ending, WorkRow, conclude, work_row};
use crate::rows::{Class, state_code};
use crate::session::Session;

/// The maximum number of deliveries taken back per call.
const RESCUE_MAX: u32 = 1_024;

const EXPIRED: &str = concat!(
    "SELECT ",
    work_row!(),
    " FROM hapax.work w /* every bucket */
      WHERE w.class = 1 AND w.wake_at < $1::int8 ORDER BY w.wake_at LIMIT $2::int8"
);

const HELD: &str = concat!(
    "SELECT ",
    work_row!(),
    " FROM hapax.work w /* every bucket */
      WHERE w.class = 1 AND w.owner = $1::int8 ORDER BY w.wake_at LIMIT $2::int8"
);

// A locked row is being finished, extended or rescued by another transaction, and is left to it.
const LOCK: &str = concat!(
    "SELECT ",
    work_row!(),
    " FROM {n} JOIN hapax.work w
          ON w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination AND w.token = n.token
      WHERE w.state = 1 AND w.wake_at < $5::int8
      ORDER BY w.bucket + 0, w.id, w.destination FOR UPDATE OF w SKIP LOCKED"
);

const UPDATE: &str = "
    UPDATE hapax.work AS w
    SET state = n.state, class = $7::int2, wake_at = $8::int8, token = n.token, attempts = n.attempts,
        lost = w.lost + 1, owner = NULL
    FROM {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination";

/// Takes back expired leases, at most `limit`.
pub(crate) async fn rescue(session: &Session, limit: u32) -> Result<Vec<Rescued>, Failure> {
    let now = session.begin_at().await?;
    let limit = i64::from(limit.min(RESCUE_MAX));
    let expired = read(&session.rows(EXPIRED, bind![now.as_micros(), limit]).await?)?;
    let rescued = take_back(session, &expired, Some(now), now).await?;
    session.commit().await?;
    Ok(rescued)
}

/// The deliveries leased by an owner, at most `limit`.
pub(crate) async fn held_by(session: &Session, owner: Owner, limit: u32) -> Result<Vec<WorkRow>, Failure> {
    let limit = i64::from(limit.min(RESCUE_MAX));
    read(&session.rows(HELD, bind![owner.0 as i64, limit]).await?)
}

/// Takes back deliveries that still run under the same token and, if `ended_by` is given, whose lease has ended by
/// then.
pub(crate) async fn take_back(
    session: &Session,
    found: &[WorkRow],
    ended_by: Option<Timestamp>,
    now: Timestamp,
) -> Result<Vec<Rescued>, Failure> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    // Only a delivery that dies touches its lane. Lanes are locked before rows, as everywhere.
    let dying: BTreeSet<LaneName> = found
        .iter()
        .filter(|row| row.lost + 1 >= LOST_MAX)
        .filter_map(WorkRow::lane_name)
        .collect();
    lanes::lock(session, &dying, now).await?;
    let locked = lock(session, found, ended_by).await?;
    let (_, mut numbers) = session.take(locked.len() * 2).await?;
    let mut rescued = Vec::with_capacity(locked.len());
    let mut dead = Vec::new();
    let mut back = Vec::new();
    for row in locked {
        let row = WorkRow {
            token: numbers.next()?,
            lost: row.lost + 1,
            attempts: row.attempts.saturating_sub(1),
            ..row
        };
        rescued.push(Rescued {
            event: EventId::from_bytes(row.id.into_bytes()),
            destination: row.destination.as_str().into(),
            attempt: row.attempts + 1,
            lost: row.lost,
        });
        if row.lost >= LOST_MAX {
            dead.push((row, Ending::Dead(ErrorClass::Lost)));
        } else {
            back.push(row);
        }
    }
    put_back(session, &back, now).await?;
    conclude(session, &dead, &mut numbers, now).await?;
    Ok(rescued)
}

fn read(rows: &[tokio_postgres::Row]) -> Result<Vec<WorkRow>, Failure> {
    rows.iter().map(WorkRow::read).collect()
}

async fn lock(
    session: &Session,
    found: &[WorkRow],
    ended_by: Option<Timestamp>,
) -> Result<Vec<WorkRow>, Failure> {
    let batch = names(found)
        .column("token", found.iter().map(|row| row.token))
        .value(ended_by.map_or(i64::MAX, Timestamp::as_micros));
    read(&session.over(LOCK, &batch).await?)
}

async fn put_back(session: &Session, back: &[WorkRow], now: Timestamp) -> Result<(), Failure> {
    let waiting = |row: &WorkRow| state_code(DeliveryState::waiting(row.attempts));
    let batch = names(back)
        .column("state", back.iter().map(waiting))
        .column("token", back.iter().map(|row| row.token))
        .column("attempts", back.iter().map(|row| i64::from(row.attempts)))
        .value(Class::Suspect.code())
        .value(now.as_micros());
    session.write(UPDATE, &batch).await
}

fn names(rows: &[WorkRow]) -> Batch<'_> {
    Batch::in_buckets(rows.iter().map(|row| row.bucket))
        .column("id", rows.iter().map(|row| row.id))
        .column("destination", rows.iter().map(|row| row.destination.as_str()))
}

//! Leasing due deliveries of one destination, the longest due first.

use std::collections::HashMap;

use futures_util::future::join;
use hapax_core::store::{Candidates, LeaseBatch, LeaseOrder};
use hapax_core::{Generation, IdempotencyKey, Leased, StoredEvent, Timestamp, Token};
use uuid::Uuid;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::options::Spread;
use crate::outcome::{WorkRow, work_row};
use crate::pool::BUCKETS;
use crate::rows::{Class, event_at, event_columns, lane_of, optional_time_at, state_code, time_at};
use crate::session::Session;

/// Leased at most in one call, whatever was asked for: each brings its payload into memory.
const LEASE_MAX: u32 = 1_024;
/// Bytes of payload after which a call leases no more; the rest is due at once.
const LEASE_BYTES_MAX: i64 = 16 << 20;

// Most polls find nothing, and cost this one statement. The whole order of the index is compared, so
// that it ends at the first row.
const PEEK: &str = "
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
           EXISTS (SELECT 1 FROM hapax.pauses p WHERE p.destination = $1::text),
           (SELECT w.wake_at FROM hapax.work w WHERE w.destination = $1::text AND w.class = $2::int2
            ORDER BY w.wake_at, w.id LIMIT 1)";

const NEXT: &str = "
    SELECT w.wake_at FROM hapax.work w WHERE w.destination = $1::text AND w.class = $2::int2
    ORDER BY w.wake_at, w.id LIMIT 1";

/// Locks what is due; the size of a payload is known without reading it.
macro_rules! lock {
    ($bucket:literal) => {
        concat!(
            "SELECT ",
            work_row!(),
            ", octet_length(e.body)::int8 + octet_length(e.headers)
             FROM (SELECT * FROM hapax.work w
                   WHERE w.destination = $1::text AND w.class = $2::int2 AND w.wake_at <= $3::int8 AND ",
            $bucket,
            " ORDER BY w.wake_at, w.id LIMIT $4::int8 FOR UPDATE SKIP LOCKED) AS w
             JOIN hapax.events e ON e.bucket = w.bucket AND e.id = w.id
             ORDER BY w.wake_at, w.id"
        )
    };
}

const LOCK_ANYWHERE: &str = lock!("w.bucket = ANY ($5::int2[])");
const LOCK_IN_BUCKET: &str = lock!("w.bucket = $5::int2");

const DUE_BUCKETS: &str = "
    SELECT w.bucket FROM hapax.work w
    WHERE w.destination = $1::text AND w.class = $2::int2 AND w.wake_at <= $3::int8
    GROUP BY w.bucket ORDER BY min(w.wake_at)";

const EVENTS: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM unnest($1::int2[], $2::uuid[]) AS n (bucket, id)
      JOIN hapax.events e ON e.bucket = n.bucket AND e.id = n.id"
);

const UPDATE: &str = "
    UPDATE hapax.work AS w
    SET state = $5::int2, class = $6::int2, wake_at = $7::int8, token = n.token, attempts = w.attempts + 1,
        owner = $8::int8
    FROM unnest($1::int2[], $2::uuid[], $3::int8[]) AS n (bucket, id, token)
    WHERE w.bucket = n.bucket AND w.id = n.id AND w.destination = $4::text";

/// An order, and where to look for work.
pub(crate) struct Search {
    pub(crate) order: LeaseOrder,
    pub(crate) spread: Spread,
}

/// Leases what is due.
pub(crate) async fn lease(session: &Session, search: &Search) -> Result<LeaseBatch, Failure> {
    let order = &search.order;
    let class = class_of(order);
    let peek = session
        .one(PEEK, bind![order.destination.as_str(), class.code()])
        .await?;
    let now = time_at(&peek, 0)?;
    let next_due = optional_time_at(&peek, 2)?;
    if peek.try_get(1)? {
        return Ok(LeaseBatch::default());
    }
    let limit = order.limit.min(LEASE_MAX);
    if limit == 0 || next_due.is_none_or(|due| due > now) {
        return Ok(LeaseBatch {
            leased: Vec::new(),
            next_due,
        });
    }
    session.begin().await?;
    let locked = match search.spread {
        Spread::Whole => lock_anywhere(session, order, now, limit).await?,
        Spread::ByBucket => lock_by_bucket(session, order, now, limit).await?,
    };
    let leased = take(session, order, &locked, now).await?;
    let next = session
        .optional(NEXT, bind![order.destination.as_str(), class.code()])
        .await?;
    session.commit().await?;
    let next_due = next.as_ref().map(|row| time_at(row, 0)).transpose()?;
    Ok(LeaseBatch { leased, next_due })
}

const fn class_of(order: &LeaseOrder) -> Class {
    match order.candidates {
        Candidates::Fresh => Class::Fresh,
        Candidates::Suspect => Class::Suspect,
    }
}

async fn lock_anywhere(
    session: &Session,
    order: &LeaseOrder,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<WorkRow>, Failure> {
    let buckets: Column<i16> = (0..BUCKETS).collect();
    let rows = session
        .rows(
            LOCK_ANYWHERE,
            bind![
                order.destination.as_str(),
                class_of(order).code(),
                now.as_micros(),
                i64::from(limit),
                buckets,
            ],
        )
        .await?;
    within_bytes(&rows, 0).map(|(rows, _)| rows)
}

async fn lock_by_bucket(
    session: &Session,
    order: &LeaseOrder,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<WorkRow>, Failure> {
    let due = session
        .rows(
            DUE_BUCKETS,
            bind![
                order.destination.as_str(),
                class_of(order).code(),
                now.as_micros()
            ],
        )
        .await?;
    let mut locked: Vec<WorkRow> = Vec::new();
    let mut bytes = 0;
    for row in &due {
        let room = i64::from(limit) - locked.len() as i64;
        if room <= 0 || bytes >= LEASE_BYTES_MAX {
            break;
        }
        let bucket: i16 = row.try_get(0)?;
        let rows = session
            .rows(
                LOCK_IN_BUCKET,
                bind![
                    order.destination.as_str(),
                    class_of(order).code(),
                    now.as_micros(),
                    room,
                    bucket,
                ],
            )
            .await?;
        let (found, sum) = within_bytes(&rows, bytes)?;
        locked.extend(found);
        bytes = sum;
    }
    Ok(locked)
}

/// The rows whose payloads fit into one answer; the others stay due.
fn within_bytes(rows: &[tokio_postgres::Row], mut bytes: i64) -> Result<(Vec<WorkRow>, i64), Failure> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        if bytes >= LEASE_BYTES_MAX {
            break;
        }
        bytes += row.try_get::<_, i64>(13)?;
        found.push(WorkRow::read(row)?);
    }
    Ok((found, bytes))
}

async fn take(
    session: &Session,
    order: &LeaseOrder,
    locked: &[WorkRow],
    now: Timestamp,
) -> Result<Vec<Leased>, Failure> {
    if locked.is_empty() {
        return Ok(Vec::new());
    }
    let buckets: Column<i16> = locked.iter().map(|row| row.bucket).collect();
    let ids: Column<Uuid> = locked.iter().map(|row| row.id).collect();
    let (drawn, events) = join(
        session.take(locked.len()),
        session.rows(EVENTS, bind![buckets, ids]),
    )
    .await;
    let (_, mut numbers) = drawn?;
    let mut events: HashMap<Uuid, StoredEvent> = events?
        .iter()
        .map(|row| Ok((row.try_get(0)?, event_at(row)?)))
        .collect::<Result<_, Failure>>()?;
    let lease_until = now.plus(order.lease_for);
    let mut tokens = Column::<i64>::default();
    let mut leased = Vec::with_capacity(locked.len());
    for row in locked {
        let token = numbers.next()?;
        tokens.push(token);
        leased.push(Leased {
            event: events.remove(&row.id).ok_or(Failure::Moved)?,
            destination: order.destination.clone(),
            token: Token(token as u64),
            lease_until,
            generation: Generation(u32::try_from(row.generation).unwrap_or(u32::MAX)),
            idempotency_key: IdempotencyKey::from_bytes(row.idempotency_key.into_bytes()),
            attempt: row.attempts + 1,
            lost: row.lost,
            lane: lane_of(row.lane.clone(), row.on_dead),
        });
    }
    session
        .execute(
            UPDATE,
            bind![
                buckets,
                ids,
                tokens,
                order.destination.as_str(),
                state_code(hapax_core::DeliveryState::Running),
                Class::Running.code(),
                lease_until.as_micros(),
                order.owner.0 as i64,
            ],
        )
        .await?;
    Ok(leased)
}

//! Leasing due deliveries of one destination, the longest due first.

mod at_once;
mod due;
mod peek;

use std::collections::HashMap;

use futures_util::future::join;
use hapax_core::store::{Candidates, LeaseBatch, LeaseOrder};
use hapax_core::{DeliveryState, Generation, IdempotencyKey, Leased, StoredEvent, Timestamp, Token};
use uuid::Uuid;

use crate::Spread;
use crate::batch::Batch;
use crate::failure::Failure;
use crate::outcome::WorkRow;
use crate::rows::{Class, event_at, event_columns, lane_of, state_code};
use crate::session::Session;

/// The maximum number of deliveries leased per call, whatever the caller asks for: each loads its payload into memory.
const LEASE_MAX: u32 = 1_024;

/// Payload bytes after which a call leases no more; the remaining deliveries stay due.
const LEASE_BYTES_MAX: i64 = 16 << 20;

const UPDATE: &str = "
    UPDATE hapax.work AS w
    SET state = $5::int2, class = $6::int2, wake_at = $7::int8, token = n.token, attempts = w.attempts + 1,
        owner = $8::int8
    FROM {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination";

const EVENTS: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id"
);

/// Leases due deliveries. A distributed database can neither lock rows on several servers nor draw numbers inside a
/// statement.
pub(crate) async fn lease(session: &Session, order: &LeaseOrder) -> Result<LeaseBatch, Failure> {
    match session.spread() {
        Spread::Whole => at_once::lease(session, order).await,
        Spread::ByBucket => step_by_step(session, order).await,
    }
}

/// Peeks, locks due deliveries bucket by bucket, and takes them.
async fn step_by_step(session: &Session, order: &LeaseOrder) -> Result<LeaseBatch, Failure> {
    let class = class_of(order);
    let seen = peek::begin(session, order.destination.as_str(), class).await?;
    let limit = limit_of(order);
    if seen.paused || limit == 0 || seen.next_due.is_none_or(|due| due > seen.now) {
        session.commit().await?;
        return Ok(LeaseBatch {
            leased: Vec::new(),
            next_due: seen.next_due.filter(|_| !seen.paused),
        });
    }
    let wanted = due::Wanted {
        destination: order.destination.as_str(),
        class,
        now: seen.now,
        limit,
    };
    let locked = due::lock(session, &wanted).await?;
    let leased = take(session, order, &locked, seen.now).await?;
    let next_due = peek::next_due(session, order.destination.as_str(), class).await?;
    session.commit().await?;
    Ok(LeaseBatch { leased, next_due })
}

fn limit_of(order: &LeaseOrder) -> u32 {
    order.limit.min(LEASE_MAX)
}

const fn class_of(order: &LeaseOrder) -> Class {
    match order.candidates {
        Candidates::Fresh => Class::Fresh,
        Candidates::Suspect => Class::Suspect,
    }
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
    let names = || {
        Batch::in_buckets(locked.iter().map(|row| row.bucket)).column("id", locked.iter().map(|row| row.id))
    };
    let ids = names();
    let (drawn, events) = join(session.take(locked.len()), session.over(EVENTS, &ids)).await;
    let (_, mut numbers) = drawn?;
    let mut events: HashMap<Uuid, StoredEvent> = events?
        .iter()
        .map(|row| Ok((row.try_get(0)?, event_at(row)?)))
        .collect::<Result<_, Failure>>()?;
    let lease_until = now.plus(order.lease_for);
    let tokens = numbers.several(locked.len())?;
    let mut leased = Vec::with_capacity(locked.len());
    for (row, token) in locked.iter().zip(&tokens) {
        leased.push(Leased {
            event: events.remove(&row.id).ok_or(Failure::Moved)?,
            destination: order.destination.clone(),
            token: Token(*token as u64),
            lease_until,
            generation: Generation(u32::try_from(row.generation).unwrap_or(u32::MAX)),
            idempotency_key: IdempotencyKey::from_bytes(row.idempotency_key.into_bytes()),
            attempt: row.attempts + 1,
            lost: row.lost,
            lane: lane_of(row.lane.clone(), row.on_dead),
        });
    }
    let batch = names()
        .same("destination", order.destination.as_str())
        .column("token", tokens)
        .value(state_code(DeliveryState::Running))
        .value(Class::Running.code())
        .value(lease_until.as_micros())
        .value(order.owner.0 as i64);
    session.write(UPDATE, &batch).await?;
    Ok(leased)
}

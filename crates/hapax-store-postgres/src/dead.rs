//! Dead letters: finding finished deliveries, and discarding or restoring them.

mod groups;

use std::collections::BTreeSet;

use hapax_core::store::{Cursor, DeadQuery, DeliveryView, Disposal};
use hapax_core::{DeliveryState, DestinationId, EventId};

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::lanes::{self, LanePosition};
use crate::rows::{bucket_of, outcome_view, outcome_view_columns, state_code, uuid_of};
use crate::session::Session;

pub(crate) use groups::dead_groups;

/// The maximum number of deliveries per page.
const PAGE_MAX: u32 = 1_000;

const SELECT: &str = concat!(
    "SELECT ",
    outcome_view_columns!(),
    ", finished_no FROM hapax.outcomes /* every bucket */
      WHERE is_current AND state >= 4 AND state = $1::int2 AND finished_no < $2::int8
        AND ($3::text IS NULL OR destination = $3::text)
      ORDER BY finished_no DESC LIMIT $4::int8"
);

// Guards against a concurrent replay of the same event.
const LOCK_EVENTS: &str = "
    SELECT e.id FROM {n} JOIN hapax.events e ON e.bucket = {bucket} AND e.id = n.id
    ORDER BY e.bucket + 0, e.id FOR UPDATE OF e";

// Includes lanes of unfinished deliveries: these may die before their lanes are locked.
const LANES: &str = "
    SELECT o.destination, o.lane
    FROM {n} JOIN hapax.outcomes o ON o.bucket = {bucket} AND o.id = n.id AND o.destination = n.destination
    WHERE o.is_current AND o.lane IS NOT NULL
    UNION
    SELECT w.destination, w.lane
    FROM {n} JOIN hapax.work w ON w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination
    WHERE w.lane IS NOT NULL";

const UPDATE: &str = "
    UPDATE hapax.outcomes AS o SET state = $5::int2, holds = false
    FROM {n} WHERE o.bucket = {bucket} AND o.id = n.id AND o.destination = n.destination
      AND o.is_current AND o.state = $4::int2
    RETURNING o.destination, o.lane, o.lane_order, o.bucket, o.id";

/// A page of dead or discarded deliveries, the most recently finished first.
pub(crate) async fn deliveries(
    session: &Session,
    (query, after, limit): &(DeadQuery, Option<Cursor>, u32),
) -> Result<(Vec<DeliveryView>, Option<Cursor>), Failure> {
    match query.state {
        DeliveryState::Dead | DeliveryState::Discarded => {}
        // Only deliveries that did not complete are indexed by the time they ended.
        DeliveryState::Completed
        | DeliveryState::Pending
        | DeliveryState::Running
        | DeliveryState::Retrying => return Ok((Vec::new(), None)),
    }
    let limit = (*limit).min(PAGE_MAX) as usize;
    let before = after.map_or(i64::MAX, |Cursor(number)| {
        i64::try_from(number).unwrap_or(i64::MAX)
    });
    let destination = query.destination.as_ref().map(DestinationId::as_str);
    let rows = session
        .rows(
            SELECT,
            bind![state_code(query.state), before, destination, limit as i64 + 1],
        )
        .await?;
    let mut views = Vec::with_capacity(rows.len());
    let mut last = None;
    for row in rows.iter().take(limit) {
        views.push(outcome_view(row)?);
        last = Some(Cursor(row.try_get::<_, i64>(11)? as u64));
    }
    Ok((views, last.filter(|_| rows.len() > limit)))
}

/// Discards or restores deliveries. Returns how many changed.
pub(crate) async fn dispose(
    session: &Session,
    (deliveries, disposal): &(Vec<(EventId, DestinationId)>, Disposal),
) -> Result<u64, Failure> {
    if deliveries.is_empty() {
        return Ok(0);
    }
    let (from, to) = match disposal {
        Disposal::Discard => (DeliveryState::Dead, DeliveryState::Discarded),
        Disposal::Restore => (DeliveryState::Discarded, DeliveryState::Dead),
    };
    // Each delivery once: a statement changes a row at most once.
    let distinct: BTreeSet<_> = deliveries.iter().collect();
    let names = || {
        Batch::in_buckets(distinct.iter().map(|(event, _)| bucket_of(*event)))
            .column("id", distinct.iter().map(|(event, _)| uuid_of(*event)))
            .column("destination", distinct.iter().map(|(_, to)| to.as_str()))
    };
    let now = session.begin_at().await?;
    session.write(LOCK_EVENTS, &names()).await?;
    let lanes = lanes::names(&session.over(LANES, &names()).await?)?;
    lanes::lock(session, &lanes, now).await?;
    let batch = names().value(state_code(from)).value(state_code(to));
    let changed = session.over(UPDATE, &batch).await?;
    // Changed deliveries no longer hold their lanes.
    let mut left = Vec::new();
    for row in &changed {
        if row.try_get::<_, Option<&str>>(1)?.is_some() {
            left.push(LanePosition::read(row)?);
        }
    }
    lanes::leave(session, &left).await?;
    lanes::promote(session, &lanes, now).await?;
    session.commit().await?;
    Ok(changed.len() as u64)
}

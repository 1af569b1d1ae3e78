//! A lease in one statement: it locks due deliveries, takes them, and returns them with their events.

use hapax_core::store::{LeaseBatch, LeaseOrder};
use hapax_core::{DeliveryState, Leased, Timestamp, Token};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{LEASE_BYTES_MAX, class_of, limit_of};
use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{
    Class, count_at, event_at, event_columns, generation_at, idempotency_key_at, lane_of, optional_time_at,
    state_code, time_at,
};
use crate::session::{Session, is_begun};

/// Rows are locked in the order in which they are due, skipping those that others have locked, and are found again by
/// where they are: nothing can move them while they are locked. If somebody moved a row after the statement began, it is
/// not found, and stays due.
///
/// The time of the next delivery is that of the first one that was not taken. If as many were taken as were asked for, the
/// search begins at the last of them: before it are only the index entries of deliveries that are no longer due, until the
/// next vacuum, and deliveries that others have locked.
macro_rules! lease {
    ($may_write:expr) => {
        concat!(
            "WITH clock AS MATERIALIZED (
                 SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now),
             due AS MATERIALIZED (
                 SELECT ",
            event_columns!(),
            ",      w.at, w.destination, w.wake_at AS due_at, w.lost, w.generation, w.idempotency_key, w.lane, w.on_dead,
                    sum(octet_length(e.body) + octet_length(e.headers))
                        OVER (ORDER BY w.wake_at, w.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
                 FROM (SELECT w.ctid AS at, w.* FROM hapax.work w
                       WHERE w.destination = $1::text AND w.class = $2::int2 AND w.class <> 1
                         AND w.wake_at <= (SELECT now FROM clock)
                         AND NOT EXISTS (SELECT FROM hapax.pauses p WHERE p.destination = $1::text)
                         AND ",
            $may_write,
            "          ORDER BY w.wake_at, w.id LIMIT $3::int8 FOR UPDATE SKIP LOCKED) AS w
                 JOIN hapax.events e ON e.bucket = ANY (ARRAY[w.bucket]) AND e.id = w.id),
             taken AS (
                 UPDATE hapax.work AS w
                 SET state = $5::int2, class = $6::int2, wake_at = (SELECT now FROM clock) + $7::int8,
                     token = nextval('hapax.tokens'), attempts = w.attempts + 1, owner = $8::int8
                 FROM due n
                 WHERE w.ctid = n.at AND w.id = n.id AND w.destination = n.destination
                   AND coalesce(n.bytes_before, 0) < $4::int8
                 RETURNING n.*, w.token, w.attempts, w.wake_at AS lease_until)
             SELECT ",
            event_columns!(),
            ",      e.due_at, e.token, e.lease_until, e.generation, e.idempotency_key, e.attempts, e.lost, e.lane, e.on_dead,
                    (SELECT w.wake_at FROM hapax.work w
                     WHERE w.destination = $1::text AND w.class = $2::int2 AND w.class <> 1
                       AND w.wake_at >= (SELECT CASE count(*) WHEN $3::int8 THEN coalesce(max(due_at), 0) ELSE 0 END
                                         FROM taken)
                       AND w.id NOT IN (SELECT id FROM taken)
                       AND NOT EXISTS (SELECT FROM hapax.pauses p WHERE p.destination = $1::text)
                     ORDER BY w.wake_at, w.id LIMIT 1)
             FROM clock LEFT JOIN taken AS e ON true"
        )
    };
}

const LEASE: &str = lease!("true");

/// It is sent together with the beginning of its transaction, and leases nothing if that has failed.
const LEASE_BEGUN: &str = lease!(is_begun!());

/// Leases due deliveries, wherever they are.
pub(super) async fn lease(session: &Session, order: &LeaseOrder) -> Result<LeaseBatch, Failure> {
    // Half of what fits, so that adding it to the time cannot overflow.
    let lease_for =
        i64::try_from(order.lease_for.as_micros()).map_or(i64::MAX / 2, |micros| micros.min(i64::MAX / 2));
    let rows = session
        .only(
            LEASE,
            LEASE_BEGUN,
            bind![
                order.destination.as_str(),
                class_of(order).code(),
                i64::from(limit_of(order)),
                LEASE_BYTES_MAX,
                state_code(DeliveryState::Running),
                Class::Running.code(),
                lease_for,
                order.owner.0 as i64,
            ],
        )
        .await?;
    let next_due = match rows.first() {
        Some(row) => optional_time_at(row, 22)?,
        None => None,
    };
    let mut leased = Vec::with_capacity(rows.len());
    for row in &rows {
        if row.try_get::<_, Option<Uuid>>(0)?.is_some() {
            leased.push(leased_at(row, order)?);
        }
    }
    leased.sort_unstable_by_key(|(due_at, leased)| (*due_at, leased.event.id));
    Ok(LeaseBatch {
        leased: leased.into_iter().map(|(_, leased)| leased).collect(),
        next_due,
    })
}

/// A leased delivery, and since when it was due.
fn leased_at(row: &Row, order: &LeaseOrder) -> Result<(Timestamp, Leased), Failure> {
    let token: i64 = row.try_get(14)?;
    let leased = Leased {
        event: event_at(row)?,
        destination: order.destination.clone(),
        token: Token(token as u64),
        lease_until: time_at(row, 15)?,
        generation: generation_at(row, 16)?,
        idempotency_key: idempotency_key_at(row, 17)?,
        attempt: count_at(row, 18)?,
        lost: count_at(row, 19)?,
        lane: lane_of(row.try_get(20)?, row.try_get(21)?),
    };
    Ok((time_at(row, 13)?, leased))
}

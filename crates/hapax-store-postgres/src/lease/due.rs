//! Locking due deliveries, skipping those that others have locked.

use std::collections::BTreeMap;

use hapax_core::Timestamp;
use tokio_postgres::Row;

use super::LEASE_BYTES_MAX;
use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::outcome::{WorkRow, work_row};
use crate::rows::Class;
use crate::session::Session;

/// Locks due deliveries of a bucket. The size of a payload is known without reading it.
const LOCK: &str = concat!(
    "SELECT ",
    work_row!(),
    ", octet_length(e.body)::int8 + octet_length(e.headers), w.wake_at
     FROM (SELECT * FROM hapax.work w
           WHERE w.destination = $3::text AND w.class = $4::int2 AND w.class <> 1 AND w.wake_at <= $5::int8
             AND w.bucket = {bucket}
           ORDER BY w.wake_at, w.id LIMIT $2::int8 FOR UPDATE SKIP LOCKED) AS w
     JOIN hapax.events e ON e.bucket = {bucket} AND e.id = w.id
     ORDER BY w.wake_at, w.id"
);

const DUE_BUCKETS: &str = "
    SELECT w.bucket FROM hapax.work w /* every bucket */
    WHERE w.destination = $1::text AND w.class = $2::int2 AND w.class <> 1 AND w.wake_at <= $3::int8
    ORDER BY w.wake_at, w.id LIMIT $4::int8";

/// What a lease asks for.
pub(super) struct Wanted<'o> {
    pub(super) destination: &'o str,
    pub(super) class: Class,
    pub(super) now: Timestamp,
    pub(super) limit: u32,
}

/// Locks at most the wanted number of rows, the longest due first: finds which buckets have them, and locks that many in
/// each.
pub(super) async fn lock(session: &Session, wanted: &Wanted<'_>) -> Result<Vec<WorkRow>, Failure> {
    let (class, now, limit) = (
        wanted.class.code(),
        wanted.now.as_micros(),
        i64::from(wanted.limit),
    );
    let due = session
        .rows(DUE_BUCKETS, bind![wanted.destination, class, now, limit])
        .await?;
    let mut counts: BTreeMap<i16, i64> = BTreeMap::new();
    for row in &due {
        *counts.entry(row.try_get(0)?).or_default() += 1;
    }
    let batch = Batch::in_buckets(counts.keys().copied())
        .column("count", counts.values().copied())
        .value(wanted.destination)
        .value(class)
        .value(now);
    let mut rows = Vec::with_capacity(due.len());
    for row in session.over(LOCK, &batch).await? {
        rows.push((row.try_get::<_, i64>(14)?, row));
    }
    rows.sort_by_key(|(wake_at, _)| *wake_at);
    within_bytes(rows.into_iter().map(|(_, row)| row))
}

/// The rows whose payloads fit into one answer; the others stay due.
fn within_bytes(rows: impl ExactSizeIterator<Item = Row>) -> Result<Vec<WorkRow>, Failure> {
    let mut found = Vec::with_capacity(rows.len());
    let mut bytes = 0;
    for row in rows {
        if bytes >= LEASE_BYTES_MAX {
            break;
        }
        bytes += row.try_get::<_, i64>(13)?;
        found.push(WorkRow::read(&row)?);
    }
    Ok(found)
}

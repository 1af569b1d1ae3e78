//! Locking due deliveries, skipping those that others have locked.

use std::collections::BTreeMap;

use hapax_core::Timestamp;
use tokio_postgres::Row;

use crate::Spread;
use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::outcome::{WorkRow, work_row};
use crate::rows::Class;
use crate::session::Session;

/// Payload bytes after which a call leases no more; the remaining deliveries stay due.
const LEASE_BYTES_MAX: i64 = 16 << 20;

/// Locks due deliveries. The size of a payload is known without reading it.
macro_rules! lock {
    ($destination:literal, $class:literal, $now:literal, $limit:literal, $in_bucket:literal, $of_event:literal) => {
        concat!(
            "SELECT ",
            work_row!(),
            ", octet_length(e.body)::int8 + octet_length(e.headers), w.wake_at
             FROM (SELECT * FROM hapax.work w
                   WHERE w.destination = ",
            $destination,
            " AND w.class = ",
            $class,
            " AND w.class <> 1 AND w.wake_at <= ",
            $now,
            $in_bucket,
            " ORDER BY w.wake_at, w.id LIMIT ",
            $limit,
            " FOR UPDATE SKIP LOCKED) AS w
             JOIN hapax.events e ON e.bucket = ",
            $of_event,
            " AND e.id = w.id
             ORDER BY w.wake_at, w.id"
        )
    };
}

const LOCK_ANYWHERE: &str = lock!("$1::text", "$2::int2", "$3::int8", "$4::int8", "", "w.bucket");

const LOCK_IN_BUCKET: &str = lock!(
    "$3::text",
    "$4::int2",
    "$5::int8",
    "$2::int8",
    " AND w.bucket = {bucket}",
    "{bucket}"
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

/// Locks at most the wanted number of rows, the longest due first.
pub(super) async fn lock(session: &Session, wanted: &Wanted<'_>) -> Result<Vec<WorkRow>, Failure> {
    let rows = match session.spread() {
        Spread::Whole => anywhere(session, wanted).await?,
        Spread::ByBucket => by_bucket(session, wanted).await?,
    };
    within_bytes(&rows)
}

async fn anywhere(session: &Session, wanted: &Wanted<'_>) -> Result<Vec<Row>, Failure> {
    let (class, now, limit) = (
        wanted.class.code(),
        wanted.now.as_micros(),
        i64::from(wanted.limit),
    );
    session
        .rows(LOCK_ANYWHERE, bind![wanted.destination, class, now, limit])
        .await
}

/// Finds which buckets have the longest due, and locks that many in each.
async fn by_bucket(session: &Session, wanted: &Wanted<'_>) -> Result<Vec<Row>, Failure> {
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
    for row in session.over(LOCK_IN_BUCKET, &batch).await? {
        rows.push((row.try_get::<_, i64>(14)?, row));
    }
    rows.sort_by_key(|(wake_at, _)| *wake_at);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// The rows whose payloads fit into one answer; the others stay due.
fn within_bytes(rows: &[Row]) -> Result<Vec<WorkRow>, Failure> {
    let mut found = Vec::with_capacity(rows.len());
    let mut bytes = 0;
    for row in rows {
        if bytes >= LEASE_BYTES_MAX {
            break;
        }
        bytes += row.try_get::<_, i64>(13)?;
        found.push(WorkRow::read(row)?);
    }
    Ok(found)
}

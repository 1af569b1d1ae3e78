//! Recording what became of attempts, each only while its lease holds.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join3;
use hapax_core::store::{Report, Written};
use hapax_core::{Attempt, DeliveryState, ErrorClass, Hold, Timestamp, Verdict};
use uuid::Uuid;

use crate::bind::{Column, Param, bind, param};
use crate::failure::Failure;
use crate::lanes::{self, LaneName};
use crate::outcome::{Ending, WorkRow, conclude, work_row};
use crate::rows::{Class, bucket_of, state_code, uuid_of};
use crate::session::Session;

/// The rows that run under holds.
macro_rules! held {
    ($columns:expr, $end:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::int8[]) AS n (bucket, id, destination, token)
              JOIN hapax.work w ON w.bucket = n.bucket AND w.id = n.id AND w.destination = n.destination
              WHERE w.token = n.token AND w.state = 1",
            $end
        )
    };
}

// Lanes are locked before rows of work, so they must be known first.
const LANES: &str = held!("w.destination, w.lane", " AND w.lane IS NOT NULL");
const LOCK: &str = held!(
    work_row!(),
    " ORDER BY w.bucket, w.id, w.destination FOR UPDATE OF w"
);

const PUT_BACK: &str = "
    UPDATE hapax.work AS w
    SET state = n.state, class = n.class, wake_at = n.wake_at, attempts = n.attempts, owner = NULL
    FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::int2[], $5::int2[], $6::int8[], $7::int8[])
         AS n (bucket, id, destination, state, class, wake_at, attempts)
    WHERE w.bucket = n.bucket AND w.id = n.id AND w.destination = n.destination";

const INSERT_ATTEMPTS: &str = "
    INSERT INTO hapax.attempts (bucket, id, no, token, generation, started_at, duration_ms, status, destination, error,
                                excerpt, message)
    SELECT n.bucket, n.id, n.no, n.token, n.generation, n.started_at, n.duration_ms, n.status, n.destination, n.error,
           n.excerpt, n.message
    FROM unnest($1::int2[], $2::uuid[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int4[],
                $9::text[], $10::text[], $11::bytea[], $12::bytea[])
         AS n (bucket, id, no, token, generation, started_at, duration_ms, status, destination, error, excerpt,
               message)";

/// Holds as columns.
pub(crate) struct Holds<'h> {
    pub(crate) buckets: Column<i16>,
    pub(crate) ids: Column<Uuid>,
    pub(crate) destinations: Column<&'h str>,
    pub(crate) tokens: Column<i64>,
}

impl<'h> Holds<'h> {
    pub(crate) fn of(holds: impl Iterator<Item = &'h Hold> + Clone) -> Self {
        Self {
            buckets: holds.clone().map(|hold| bucket_of(hold.event)).collect(),
            ids: holds.clone().map(|hold| uuid_of(hold.event)).collect(),
            destinations: holds.clone().map(|hold| hold.destination.as_str()).collect(),
            tokens: holds.map(|hold| hold.token.0 as i64).collect(),
        }
    }

    fn params(&self) -> [Param<'_>; 4] {
        [
            param(&self.buckets),
            param(&self.ids),
            param(&self.destinations),
            param(&self.tokens),
        ]
    }
}

/// Records attempts' ends.
pub(crate) async fn finish(session: &Session, reports: &[Report]) -> Result<Vec<Written>, Failure> {
    if reports.is_empty() {
        return Ok(Vec::new());
    }
    let holds = Holds::of(reports.iter().map(|report| &report.hold));
    let params = &holds.params();
    let (begun, taken, in_lanes) = join3(
        session.begin(),
        session.take(reports.len() * 2),
        session.rows(LANES, params),
    )
    .await;
    begun?;
    let (now, mut numbers) = taken?;
    let in_lanes: BTreeSet<LaneName> = in_lanes?
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<_, Failure>>()?;
    lanes::lock(session, &in_lanes, now).await?;
    let rows = session.rows(LOCK, params).await?;
    let mut running: HashMap<(Uuid, String, i64), WorkRow> = rows
        .iter()
        .map(|row| {
            let row = WorkRow::read(row)?;
            Ok(((row.id, row.destination.clone(), row.token), row))
        })
        .collect::<Result<_, Failure>>()?;

    let mut written = Vec::with_capacity(reports.len());
    let mut ended: Vec<(WorkRow, Ending)> = Vec::new();
    let mut back: Vec<Back> = Vec::new();
    let mut attempts: Vec<(WorkRow, &Attempt)> = Vec::new();
    for report in reports {
        let hold = &report.hold;
        let name = (
            uuid_of(hold.event),
            hold.destination.as_str().to_owned(),
            hold.token.0 as i64,
        );
        // Taken out: of two reports for one lease, the first counts.
        let Some(row) = running.remove(&name) else {
            written.push(Written::LeaseLost);
            continue;
        };
        written.push(Written::Applied);
        if let Some(attempt) = &report.attempt {
            attempts.push((row.clone(), attempt));
        }
        match report.verdict {
            Verdict::Completed => ended.push((row, Ending::Completed)),
            Verdict::Dead { reason } => ended.push((row, Ending::Dead(reason))),
            Verdict::Retry { after } => back.push(Back {
                attempts: row.attempts,
                wake_at: now.plus(after),
                row,
            }),
            Verdict::Release => back.push(Back {
                attempts: row.attempts.saturating_sub(1),
                wake_at: now,
                row,
            }),
        }
    }
    let mut nos = Column::<i64>::default();
    for _ in &attempts {
        nos.push(numbers.next()?);
    }
    keep(session, &attempts, nos).await?;
    put_back(session, &back).await?;
    conclude(session, &ended, &mut numbers, now).await?;
    session.commit().await?;
    Ok(written)
}

/// A delivery that waits again.
struct Back {
    row: WorkRow,
    attempts: u32,
    wake_at: Timestamp,
}

async fn put_back(session: &Session, back: &[Back]) -> Result<(), Failure> {
    if back.is_empty() {
        return Ok(());
    }
    let rows = || back.iter();
    session
        .execute(
            PUT_BACK,
            bind![
                rows().map(|back| back.row.bucket).collect::<Column<i16>>(),
                rows().map(|back| back.row.id).collect::<Column<Uuid>>(),
                rows()
                    .map(|back| back.row.destination.as_str())
                    .collect::<Column<&str>>(),
                rows()
                    .map(|back| state_code(DeliveryState::waiting(back.attempts)))
                    .collect::<Column<i16>>(),
                rows()
                    .map(|back| Class::due(back.row.lost).code())
                    .collect::<Column<i16>>(),
                rows()
                    .map(|back| back.wake_at.as_micros())
                    .collect::<Column<i64>>(),
                rows()
                    .map(|back| i64::from(back.attempts))
                    .collect::<Column<i64>>(),
            ],
        )
        .await
}

async fn keep(session: &Session, attempts: &[(WorkRow, &Attempt)], nos: Column<i64>) -> Result<(), Failure> {
    if attempts.is_empty() {
        return Ok(());
    }
    let rows = || attempts.iter().map(|(row, _)| row);
    let tries = || attempts.iter().map(|(_, attempt)| *attempt);
    session
        .execute(
            INSERT_ATTEMPTS,
            bind![
                rows().map(|row| row.bucket).collect::<Column<i16>>(),
                rows().map(|row| row.id).collect::<Column<Uuid>>(),
                nos,
                rows().map(|row| row.token).collect::<Column<i64>>(),
                rows().map(|row| row.generation).collect::<Column<i64>>(),
                tries()
                    .map(|attempt| attempt.started_at.as_micros())
                    .collect::<Column<i64>>(),
                tries()
                    .map(|attempt| i64::from(attempt.duration_ms))
                    .collect::<Column<i64>>(),
                tries()
                    .map(|attempt| attempt.status)
                    .collect::<Column<Option<i32>>>(),
                rows()
                    .map(|row| row.destination.as_str())
                    .collect::<Column<&str>>(),
                tries()
                    .map(|attempt| attempt.error.map(ErrorClass::as_str))
                    .collect::<Column<Option<&str>>>(),
                tries()
                    .map(|attempt| attempt.excerpt.as_bytes())
                    .collect::<Column<&[u8]>>(),
                tries()
                    .map(|attempt| attempt.message.as_deref().map(str::as_bytes))
                    .collect::<Column<Option<&[u8]>>>(),
            ],
        )
        .await
}

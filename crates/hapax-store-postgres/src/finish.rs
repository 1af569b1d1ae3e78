//! Recording the results of attempts, each only while its lease is held.

mod at_once;

use std::collections::HashMap;
use std::future::ready;

use futures_util::future::join3;
use hapax_core::store::{Report, Written};
use hapax_core::{Attempt, AttemptOutcome, DeliveryState, ErrorClass, Hold, Timestamp};
use uuid::Uuid;

use crate::batch::Batch;
use crate::failure::{self, Failure};
use crate::lanes;
use crate::outcome::{Ending, WorkRow, conclude, work_row};
use crate::rows::{Class, bucket_of, state_code, uuid_of};
use crate::session::Session;

/// The rows that run under holds.
macro_rules! held {
    ($columns:expr, $end:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM {n} JOIN hapax.work w
                  ON w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination AND w.token = n.token
              WHERE w.state = 1",
            $end
        )
    };
}

// Lanes are locked before delivery rows, so they must be known first.
const LANES: &str = held!("w.destination, w.lane", " AND w.lane IS NOT NULL");
const LOCK: &str = held!(
    work_row!(),
    " ORDER BY w.bucket + 0, w.id, w.destination FOR UPDATE OF w"
);

const PUT_BACK: &str = "
    UPDATE hapax.work AS w
    SET state = n.state, class = n.class, wake_at = n.wake_at, attempts = n.attempts, owner = NULL
    FROM {n} WHERE w.bucket = {bucket} AND w.id = n.id AND w.destination = n.destination";

const INSERT_ATTEMPTS: &str = "INSERT INTO hapax.attempts {rows}";

/// Holds as rows.
pub(crate) fn holds<'h>(holds: impl Iterator<Item = &'h Hold> + Clone) -> Batch<'h> {
    Batch::in_buckets(holds.clone().map(|hold| bucket_of(hold.event)))
        .column("id", holds.clone().map(|hold| uuid_of(hold.event)))
        .column("destination", holds.clone().map(|hold| hold.destination.as_str()))
        .column("token", holds.map(|hold| hold.token.0 as i64))
}

pub(crate) async fn finish(session: &Session, reports: &[Report]) -> Result<Vec<Written>, Failure> {
    if reports.is_empty() {
        return Ok(Vec::new());
    }
    let reports: Vec<&Report> = reports.iter().collect();
    if !at_once::suits(session, &reports) {
        let written = step_by_step(session, &reports, session.begin()).await?;
        session.commit().await?;
        return Ok(written);
    }
    let is_written = at_once::complete(session, &reports).await?;
    let left = reports
        .iter()
        .zip(&is_written)
        .filter(|(_, is_written)| !**is_written);
    let left: Vec<&Report> = left.map(|(report, _)| *report).collect();
    let mut rest = Vec::new().into_iter();
    if !left.is_empty() {
        rest = step_by_step(session, &left, ready(Ok(()))).await?.into_iter();
    }
    session.commit().await?;
    let written = is_written.into_iter().map(|is_written| {
        if is_written {
            Written::Applied
        } else {
            rest.next().unwrap_or(Written::LeaseLost)
        }
    });
    Ok(written.collect())
}

/// Locks lanes and deliveries, and writes what became of them. `begun` begins the transaction, unless it has begun.
async fn step_by_step(
    session: &Session,
    reports: &[&Report],
    begun: impl Future<Output = Result<(), Failure>>,
) -> Result<Vec<Written>, Failure> {
    let holds = holds(reports.iter().map(|report| &report.hold));
    let (begun, taken, in_lanes) = join3(
        begun,
        session.take(reports.len() * 2),
        session.over(LANES, &holds),
    )
    .await;
    begun?;
    let (now, mut numbers) = taken?;
    lanes::lock(session, &lanes::names(&in_lanes?)?, now).await?;
    let rows = session.over(LOCK, &holds).await?;
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
        // Removed: of two reports for one lease, the first counts.
        let Some(row) = running.remove(&name) else {
            written.push(Written::LeaseLost);
            continue;
        };
        written.push(Written::Applied);
        if let Some(attempt) = &report.attempt {
            attempts.push((row.clone(), attempt));
        }
        match report.outcome {
            AttemptOutcome::Completed => ended.push((row, Ending::Completed)),
            AttemptOutcome::Dead { reason } => ended.push((row, Ending::Dead(reason))),
            AttemptOutcome::Retry { after } => back.push(Back {
                attempts: row.attempts,
                wake_at: now.plus(after),
                row,
            }),
            AttemptOutcome::Release => back.push(Back {
                attempts: row.attempts.saturating_sub(1),
                wake_at: Timestamp::from_micros(row.accepted_at).min(now),
                row,
            }),
        }
    }
    let nos = numbers.several(attempts.len())?;
    // Pipelined: none of them reads what another writes.
    let (kept, waiting, concluded) = join3(
        keep(session, &attempts, nos),
        put_back(session, &back),
        conclude(session, &ended, &mut numbers, now),
    )
    .await;
    failure::all(vec![kept, waiting, concluded])?;
    Ok(written)
}

/// A delivery that goes back to waiting.
struct Back {
    row: WorkRow,
    attempts: u32,
    wake_at: Timestamp,
}

async fn put_back(session: &Session, back: &[Back]) -> Result<(), Failure> {
    let rows = || back.iter();
    let batch = Batch::in_buckets(rows().map(|back| back.row.bucket))
        .column("id", rows().map(|back| back.row.id))
        .column("destination", rows().map(|back| back.row.destination.as_str()))
        .column(
            "state",
            rows().map(|back| state_code(DeliveryState::waiting(back.attempts))),
        )
        .column("class", rows().map(|back| Class::due(back.row.lost).code()))
        .column("wake_at", rows().map(|back| back.wake_at.as_micros()))
        .column("attempts", rows().map(|back| i64::from(back.attempts)));
    session.write(PUT_BACK, &batch).await
}

async fn keep(session: &Session, attempts: &[(WorkRow, &Attempt)], nos: Vec<i64>) -> Result<(), Failure> {
    let rows = || attempts.iter().map(|(row, _)| row);
    let tries = || attempts.iter().map(|(_, attempt)| *attempt);
    let batch = Batch::in_buckets(rows().map(|row| row.bucket))
        .column("id", rows().map(|row| row.id))
        .column("no", nos)
        .column("token", rows().map(|row| row.token))
        .column("generation", rows().map(|row| row.generation))
        .column(
            "started_at",
            tries().map(|attempt| attempt.started_at.as_micros()),
        )
        .column(
            "duration_ms",
            tries().map(|attempt| i64::from(attempt.duration_ms)),
        )
        .column("status", tries().map(|attempt| attempt.status))
        .column("destination", rows().map(|row| row.destination.as_str()))
        .column(
            "error",
            tries().map(|attempt| attempt.error.map(ErrorClass::as_str)),
        )
        .column("excerpt", tries().map(|attempt| attempt.excerpt.as_bytes()))
        .column(
            "message",
            tries().map(|attempt| attempt.message.as_deref().map(str::as_bytes)),
        );
    session.write(INSERT_ATTEMPTS, &batch).await
}

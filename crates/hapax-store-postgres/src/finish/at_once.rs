//! Completed deliveries in one statement: rows of unfinished deliveries become outcomes, each with its attempt.
//!
//! Nearly every batch of outcomes only says that deliveries were completed. Those in a lane are left to the ordinary
//! steps, which lock the lane first.

use std::collections::HashSet;

use hapax_core::store::Report;
use hapax_core::{Attempt, AttemptOutcome, DeliveryState, ErrorClass, Hold};
use uuid::Uuid;

use super::holds;
use crate::Spread;
use crate::bind::{Param, param};
use crate::failure::Failure;
use crate::rows::{bucket_of, state_code, uuid_of};
use crate::session::{Session, is_begun};

/// It is sent together with the beginning of its transaction, and writes nothing if that has failed. Rows are locked in
/// the order in which they are given.
const COMPLETE: &str = concat!(
    "WITH clock AS MATERIALIZED (
         SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now),
     ended AS (
         DELETE FROM hapax.work AS w
         USING unnest($2::int2[], $3::uuid[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[], $9::int4[],
                      $10::text[], $11::bytea[], $12::bytea[])
               AS n (bucket, id, destination, token, place, started_at, duration_ms, status, error, excerpt, message)
         WHERE w.bucket = ANY (ARRAY[n.bucket]) AND w.id = n.id AND w.destination = n.destination
           AND w.token = n.token AND w.state = 1 AND w.lane IS NULL AND ",
    is_begun!(),
    "    RETURNING w.bucket, w.id, w.destination, w.token, w.attempts, w.lost, w.generation, w.accepted_at,
                   w.idempotency_key, w.replay, n.place, n.started_at, n.duration_ms, n.status, n.error, n.excerpt,
                   n.message),
     concluded AS (
         INSERT INTO hapax.outcomes
             (bucket, id, destination, token, state, is_current, holds, attempts, lost, finished_at, finished_no,
              generation, accepted_at, idempotency_key, replay)
         SELECT bucket, id, destination, token, $1::int2, true, false, attempts, lost, (SELECT now FROM clock),
                nextval('hapax.tokens'), generation, accepted_at, idempotency_key, replay
         FROM ended),
     kept AS (
         INSERT INTO hapax.attempts
             (bucket, id, no, token, generation, started_at, duration_ms, status, destination, error, excerpt, message)
         SELECT bucket, id, nextval('hapax.tokens'), token, generation, started_at, duration_ms, status, destination,
                error, excerpt, message
         FROM ended WHERE started_at IS NOT NULL)
     SELECT place FROM ended"
);

/// Whether a batch of reports can be tried in one statement. Of two reports for one lease, the first counts: which one
/// that is, the statement could not tell.
pub(super) fn suits(session: &Session, reports: &[&Report]) -> bool {
    let is_completed = |report: &&Report| matches!(report.outcome, AttemptOutcome::Completed);
    let distinct: HashSet<_> = reports.iter().map(|report| name(&report.hold)).collect();
    session.spread() == Spread::Whole && reports.iter().all(is_completed) && distinct.len() == reports.len()
}

/// Begins the transaction and writes what it can. Returns for each report whether it was written.
pub(super) async fn complete(session: &Session, reports: &[&Report]) -> Result<Vec<bool>, Failure> {
    let mut sorted: Vec<(i64, &Report)> = (0..).zip(reports.iter().copied()).collect();
    // A global order: transactions that end or extend the same deliveries do not deadlock.
    sorted.sort_unstable_by_key(|(_, report)| name(&report.hold));
    let attempts = || sorted.iter().map(|(_, report)| report.attempt.as_ref());
    let error = |attempt: &Attempt| attempt.error.map(ErrorClass::as_str);
    let rows = holds(sorted.iter().map(|(_, report)| &report.hold))
        .column("place", sorted.iter().map(|(place, _)| *place))
        .column(
            "started_at",
            attempts().map(|attempt| attempt.map(|attempt| attempt.started_at.as_micros())),
        )
        .column(
            "duration_ms",
            attempts().map(|attempt| attempt.map(|attempt| i64::from(attempt.duration_ms))),
        )
        .column("status", attempts().map(|attempt| attempt?.status))
        .column("error", attempts().map(|attempt| attempt.and_then(error)))
        .column(
            "excerpt",
            attempts().map(|attempt| attempt.map(|attempt| attempt.excerpt.as_bytes())),
        )
        .column(
            "message",
            attempts().map(|attempt| attempt?.message.as_deref().map(str::as_bytes)),
        );
    let completed = state_code(DeliveryState::Completed);
    let mut params: Vec<Param<'_>> = vec![param(&completed)];
    params.extend(rows.arrays());
    let ended = session.begin_with(session.rows(COMPLETE, &params)).await?;
    let mut written = vec![false; reports.len()];
    for row in &ended {
        let place: i64 = row.try_get(0)?;
        let report = usize::try_from(place)
            .ok()
            .and_then(|place| written.get_mut(place));
        *report.ok_or_else(|| Failure::Unreadable("a row of no report was ended".to_owned()))? = true;
    }
    Ok(written)
}

/// What a lease is known by, in the order in which rows are locked.
fn name(hold: &Hold) -> (i16, Uuid, &str, u64) {
    (
        bucket_of(hold.event),
        uuid_of(hold.event),
        hold.destination.as_str(),
        hold.token.0,
    )
}

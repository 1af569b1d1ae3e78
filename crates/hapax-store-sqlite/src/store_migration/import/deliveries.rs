//! Importing unfinished deliveries, outcomes and attempts.

use hapax_core::store::{EventContents, InLane, OutcomeRecord, WorkRecord};
use hapax_core::{DeliveryState, Timestamp};
use rusqlite::params;

use crate::desk::Desk;
use crate::failure::Failure;
use crate::rows::{Class, on_dead_code, state_code};

pub(super) fn work(
    desk: &mut Desk<'_>,
    seq: i64,
    work: &WorkRecord,
    accepted_at: Timestamp,
) -> Result<(), Failure> {
    let destination = desk.intern(work.destination.as_str())?;
    let class = match work.due_at {
        Some(_) => Class::due(work.lost),
        None => Class::Waiting,
    };
    desk.connection
        .prepare_cached(
            "INSERT INTO work (seq, destination, class, wake_at, state, token, attempts, lost, owner, generation,
                               idempotency_key, lane, lane_order, on_dead, replay)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            seq,
            destination,
            class.code(),
            work.due_at.unwrap_or(accepted_at).as_micros(),
            state_code(DeliveryState::waiting(work.attempts)),
            work.token.0 as i64,
            work.attempts,
            work.lost,
            work.generation.0,
            work.idempotency_key.as_bytes(),
            lane_key(work.lane.as_ref()),
            lane_place(work.lane.as_ref()),
            lane_end(work.lane.as_ref()),
            work.replay.as_ref().map(|job| job.0.as_bytes()),
        ])?;
    Ok(())
}

pub(super) fn outcome(desk: &mut Desk<'_>, seq: i64, outcome: &OutcomeRecord) -> Result<(), Failure> {
    let destination = desk.intern(outcome.destination.as_str())?;
    desk.connection
        .prepare_cached(
            "INSERT INTO outcomes (seq, destination, token, state, current, holds, attempts, lost, finished_at,
                                   finished_no, error, generation, idempotency_key, lane, lane_order, on_dead, replay)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?
        .execute(params![
            seq,
            destination,
            outcome.token.0 as i64,
            state_code(outcome.state),
            outcome.is_last,
            outcome.holds_lane,
            outcome.attempts,
            outcome.lost,
            outcome.finished_at.as_micros(),
            outcome.finished_order as i64,
            outcome.error.map(hapax_core::ErrorClass::as_str),
            outcome.generation.0,
            outcome.idempotency_key.as_bytes(),
            lane_key(outcome.lane.as_ref()),
            lane_place(outcome.lane.as_ref()),
            lane_end(outcome.lane.as_ref()),
            outcome.replay.as_ref().map(|job| job.0.as_bytes()),
        ])?;
    Ok(())
}

fn lane_key(lane: Option<&InLane>) -> Option<&str> {
    lane.map(|lane| lane.lane.key.as_str())
}

fn lane_place(lane: Option<&InLane>) -> Option<i64> {
    lane.map(|lane| lane.place as i64)
}

fn lane_end(lane: Option<&InLane>) -> Option<i64> {
    lane.map(|lane| on_dead_code(lane.lane.on_dead))
}

/// Imported attempts are numbered by position; later ones get numbers from the store-wide sequence, which are greater.
pub(super) fn attempts(desk: &mut Desk<'_>, seq: i64, contents: &EventContents) -> Result<(), Failure> {
    for (place, view) in (0_i64..).zip(&contents.attempts) {
        let destination = desk.intern(view.destination.as_str())?;
        desk.hot.insert_attempt.execute(params![
            seq,
            place,
            destination,
            view.token.0 as i64,
            view.generation.0,
            view.attempt.started_at.as_micros(),
            view.attempt.duration_ms,
            view.attempt.status,
            view.attempt.error.map(hapax_core::ErrorClass::as_str),
            view.attempt.excerpt,
            view.attempt.message,
        ])?;
    }
    Ok(())
}

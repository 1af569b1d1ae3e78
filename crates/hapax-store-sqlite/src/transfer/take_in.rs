//! Taking records in. What is there already stays as it is.

use hapax_core::store::{
    AuditNumbered, BodyNote, ConflictRecord, DuplicateTally, EventContents, IdentityRecord, InLane,
    JobRecord, OutcomeRecord, Record, TransferCursor, WorkRecord,
};
use hapax_core::{DeliveryState, Key, NewEvent, Timestamp};
use rusqlite::params;

use super::mark;
use crate::accept;
use crate::desk::Desk;
use crate::failure::Failure;
use crate::jobs;
use crate::rows::{Class, on_dead_code, state_code};

/// Takes records in, and notes how far the copy has come.
pub(super) fn take_in(
    desk: &mut Desk<'_>,
    (records, reached): &(Vec<Record>, TransferCursor),
) -> Result<(), Failure> {
    mark::advance(desk, reached)?;
    for record in records {
        match record {
            Record::Identity(record) => identity(desk, record)?,
            Record::Body(note) => body(desk, note)?,
            Record::Pause(pause) => {
                let destination = desk.intern(pause.destination.as_str())?;
                desk.connection
                    .prepare_cached(
                        "INSERT OR IGNORE INTO pauses (destination, at, by, why) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute((destination, pause.at.as_micros(), &pause.by, &pause.why))?;
                desk.state.paused = None;
            }
            Record::Job(record) => job(desk, record)?,
            Record::Audit(entry) => audit(desk, entry)?,
        }
    }
    Ok(())
}

fn identity(desk: &mut Desk<'_>, record: &IdentityRecord) -> Result<(), Failure> {
    let scope = desk.intern(record.scope.as_str())?;
    let entry = &record.entry;
    let rule = match &entry.content_hash {
        Some(content) => Some(desk.intern(&content.rule)?),
        None => None,
    };
    let inserted = desk
        .connection
        .prepare_cached(
            "INSERT INTO ledger (key, scope, id, generation, first_seen, expires_at, raw_hash, content_rule,
                                 content_hash, forgotten)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (key) DO NOTHING",
        )?
        .execute(params![
            record.key.as_bytes(),
            scope,
            entry.id.as_bytes(),
            entry.generation.0,
            entry.first_seen.as_micros(),
            entry.expires_at.as_micros(),
            entry.raw_hash.as_bytes(),
            rule,
            entry.content_hash.as_ref().map(|content| content.hash.as_bytes()),
            record.is_forgotten,
        ])?;
    // All of a record comes in one transaction: where its entry is, the rest is too.
    if inserted == 0 {
        return Ok(());
    }
    desk.state.tallies.add(scope, 1);
    for contents in &record.events {
        event(desk, record, contents, scope)?;
    }
    if record.events.is_empty() {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO expiring (expires_at, key) VALUES (?1, ?2)")?
            .execute((entry.expires_at.as_micros(), record.key.as_bytes()))?;
    }
    if let Some(tally) = &record.duplicates {
        duplicates(desk, record.key, tally)?;
    }
    for one in &record.conflicts {
        conflict(desk, one)?;
    }
    Ok(())
}

fn event(
    desk: &mut Desk<'_>,
    record: &IdentityRecord,
    contents: &EventContents,
    scope: i64,
) -> Result<(), Failure> {
    let id = contents.event.id;
    let seq = accept::append(
        desk,
        &as_new(record, contents),
        scope,
        contents.generation,
        contents.accepted_at,
    )?;
    if id != record.entry.id {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO earlier (key, id) VALUES (?1, ?2)")?
            .execute((record.key.as_bytes(), id.as_bytes()))?;
    }
    if let Some(earlier) = contents.same_body_as {
        desk.connection
            .prepare_cached("INSERT OR IGNORE INTO same_body (id, earlier) VALUES (?1, ?2)")?
            .execute((id.as_bytes(), earlier.as_bytes()))?;
    }
    for one in &contents.work {
        work(desk, seq, one, contents.accepted_at)?;
    }
    for one in &contents.outcomes {
        outcome(desk, seq, one)?;
    }
    attempts(desk, seq, contents)
}

/// The event as if it arrived now; its deliveries come by themselves.
fn as_new(record: &IdentityRecord, contents: &EventContents) -> NewEvent {
    let event = contents.event.clone();
    NewEvent {
        id: event.id,
        key: record.key,
        identity: event.identity,
        source: event.source,
        event_type: event.event_type,
        received_at: event.received_at,
        signed_at: event.signed_at,
        secret_index: event.secret_index,
        raw_hash: event.raw_hash,
        content_hash: None,
        headers: event.headers,
        body: event.body,
        batch: event.batch,
        ledger_until: record.entry.expires_at,
        deliveries: Vec::new(),
    }
}

fn work(desk: &mut Desk<'_>, seq: i64, work: &WorkRecord, accepted_at: Timestamp) -> Result<(), Failure> {
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

fn outcome(desk: &mut Desk<'_>, seq: i64, outcome: &OutcomeRecord) -> Result<(), Failure> {
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

/// Attempts are numbered by their place; those to come have numbers of the store-wide sequence, which are greater.
fn attempts(desk: &mut Desk<'_>, seq: i64, contents: &EventContents) -> Result<(), Failure> {
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

fn duplicates(desk: &Desk<'_>, key: Key, tally: &DuplicateTally) -> Result<(), Failure> {
    let gaps: Vec<u8> = tally.gaps_ms.iter().flat_map(|gap| gap.to_be_bytes()).collect();
    desk.connection
        .prepare_cached(
            "INSERT OR IGNORE INTO duplicates (key, copies, last_at, gaps) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute((
            key.as_bytes(),
            tally.copies as i64,
            tally.last_at.as_micros(),
            gaps,
        ))?;
    Ok(())
}

fn conflict(desk: &mut Desk<'_>, conflict: &ConflictRecord) -> Result<(), Failure> {
    let variant = &conflict.variant;
    let source = desk.intern(variant.source.as_str())?;
    desk.connection
        .prepare_cached(
            "INSERT INTO conflicts (first, raw_hash, key, source, received_at, seen, released_as, headers, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (first, raw_hash) DO NOTHING",
        )?
        .execute(params![
            variant.first.as_bytes(),
            variant.raw_hash.as_bytes(),
            variant.key.as_bytes(),
            source,
            variant.received_at.as_micros(),
            conflict.seen as i64,
            conflict.released_as.as_ref().map(hapax_core::EventId::as_bytes),
            variant.headers.as_bytes(),
            &variant.body[..],
        ])?;
    Ok(())
}

fn body(desk: &mut Desk<'_>, note: &BodyNote) -> Result<(), Failure> {
    let scope = desk.intern(note.scope.as_str())?;
    desk.connection
        .prepare_cached("INSERT OR IGNORE INTO bodies (scope, raw_hash, id, until) VALUES (?1, ?2, ?3, ?4)")?
        .execute((
            scope,
            note.raw_hash.as_bytes(),
            note.id.as_bytes(),
            note.until.as_micros(),
        ))?;
    Ok(())
}

fn job(desk: &Desk<'_>, record: &JobRecord) -> Result<(), Failure> {
    let job = &record.job;
    let text = serde_json::to_string(job)
        .map_err(|error| Failure::Rejected(format!("the job cannot be written as JSON: {error}")))?;
    desk.connection
        .prepare_cached("INSERT OR IGNORE INTO replays (id, state, changed_at, job) VALUES (?1, ?2, ?3, ?4)")?
        .execute((
            job.id.0.as_bytes(),
            jobs::state_name(job.state),
            record.changed_at.as_micros(),
            text,
        ))?;
    Ok(())
}

fn audit(desk: &Desk<'_>, entry: &AuditNumbered) -> Result<(), Failure> {
    let said = &entry.record.entry;
    desk.connection
        .prepare_cached(
            "INSERT OR IGNORE INTO audit (no, at, who, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            entry.number as i64,
            entry.record.at.as_micros(),
            &said.who,
            &said.action,
            &said.subject,
            &said.detail,
        ))?;
    Ok(())
}

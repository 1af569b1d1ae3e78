//! A record as rows: values that are derived for this database are derived here.

use hapax_core::store::{EventContents, IdentityRecord, InLane, OutcomeRecord, WorkRecord};
use hapax_core::{DeliveryState, DestinationId, ErrorClass, Timestamp};
use uuid::Uuid;

use super::tables::{Binary, EventRow, LedgerRow, OutcomeRow, WorkRow};
use crate::lanes::{LanePosition, Standing};
use crate::rows::{Class, key_bucket, key_uuid, on_dead_code, state_code, uuid_of};

pub(super) fn ledger_row(record: &IdentityRecord) -> LedgerRow {
    let entry = &record.entry;
    let content = entry.content_hash.as_ref();
    LedgerRow {
        bucket: key_bucket(record.key),
        key: key_uuid(record.key),
        id: uuid_of(entry.id),
        generation: entry.generation.0,
        first_seen: entry.first_seen.as_micros(),
        expires_at: entry.expires_at.as_micros(),
        forgotten: record.is_forgotten,
        stored: !record.events.is_empty(),
        scope: record.scope.as_str().to_owned(),
        raw_hash: Binary(entry.raw_hash.as_bytes().to_vec()),
        content_rule: content.map(|content| content.rule.clone()),
        content_hash: content.map(|content| Binary(content.hash.as_bytes().to_vec())),
    }
}

pub(super) fn event_row(contents: &EventContents, bucket: i16, key: Uuid) -> EventRow {
    let event = &contents.event;
    EventRow {
        bucket,
        id: uuid_of(event.id),
        no: contents.order as i64,
        key,
        generation: contents.generation.0,
        received_at: event.received_at.as_micros(),
        accepted_at: contents.accepted_at.as_micros(),
        signed_at: event.signed_at.map(Timestamp::as_micros),
        secret_index: event.secret_index,
        batch_id: event.batch.map(|(id, _)| uuid_of(id)),
        batch_index: event.batch.map(|(_, index)| index),
        scope: event.identity.scope.as_str().to_owned(),
        source: event.source.as_str().to_owned(),
        event_id: event.identity.event_id.clone(),
        event_type: event.event_type.clone(),
        raw_hash: Binary(event.raw_hash.as_bytes().to_vec()),
        headers: Binary(event.headers.as_bytes().to_vec()),
        body: Binary(event.body.to_vec()),
    }
}

pub(super) fn work_row(work: &WorkRecord, bucket: i16, id: Uuid, accepted_at: Timestamp) -> WorkRow {
    let class = match work.due_at {
        Some(_) => Class::due(work.lost),
        None => Class::Waiting,
    };
    let (lane, lane_order, on_dead) = lane(work.lane.as_ref());
    WorkRow {
        bucket,
        id,
        destination: work.destination.as_str().to_owned(),
        class: class.code(),
        state: state_code(DeliveryState::waiting(work.attempts)),
        wake_at: work.due_at.unwrap_or(accepted_at).as_micros(),
        token: work.token.0 as i64,
        attempts: work.attempts,
        lost: work.lost,
        generation: work.generation.0,
        accepted_at: accepted_at.as_micros(),
        idempotency_key: Uuid::from_bytes(*work.idempotency_key.as_bytes()),
        lane,
        lane_order,
        on_dead,
        replay: work.replay.map(|job| uuid_of(job.0)),
    }
}

pub(super) fn outcome_row(
    outcome: &OutcomeRecord,
    bucket: i16,
    id: Uuid,
    accepted_at: Timestamp,
) -> OutcomeRow {
    let (lane, lane_order, on_dead) = lane(outcome.lane.as_ref());
    OutcomeRow {
        bucket,
        id,
        destination: outcome.destination.as_str().to_owned(),
        token: outcome.token.0 as i64,
        state: state_code(outcome.state),
        is_current: outcome.is_last,
        holds: outcome.holds_lane,
        attempts: outcome.attempts,
        lost: outcome.lost,
        finished_at: outcome.finished_at.as_micros(),
        finished_no: outcome.finished_order as i64,
        generation: outcome.generation.0,
        accepted_at: accepted_at.as_micros(),
        idempotency_key: Uuid::from_bytes(*outcome.idempotency_key.as_bytes()),
        error: error(outcome.error),
        lane,
        lane_order,
        on_dead,
        replay: outcome.replay.map(|job| uuid_of(job.0)),
    }
}

/// The positions in lanes: of unfinished deliveries, and of dead ones that hold their lane.
pub(super) fn places(
    contents: &EventContents,
    event_bucket: i16,
) -> impl Iterator<Item = (LanePosition, Standing)> {
    let event = uuid_of(contents.event.id);
    let place = move |destination: &DestinationId, lane: &InLane| LanePosition {
        lane: (destination.as_str().to_owned(), lane.lane.key.clone()),
        order: lane.place as i64,
        event_bucket,
        event,
    };
    let unfinished = contents.work.iter().filter_map(move |work| {
        let standing = match work.due_at {
            Some(_) => Standing::Awake,
            None => Standing::Waiting,
        };
        Some((place(&work.destination, work.lane.as_ref()?), standing))
    });
    let holding = contents.outcomes.iter().filter(|outcome| outcome.holds_lane);
    let holding = holding.filter_map(move |outcome| {
        let place = place(&outcome.destination, outcome.lane.as_ref()?);
        Some((place, Standing::Holding))
    });
    unfinished.chain(holding)
}

pub(super) fn error(class: Option<ErrorClass>) -> Option<String> {
    class.map(|class| class.as_str().to_owned())
}

/// A lane as its three columns.
fn lane(lane: Option<&InLane>) -> (Option<String>, Option<i64>, Option<i16>) {
    match lane {
        Some(lane) => (
            Some(lane.lane.key.clone()),
            Some(lane.place as i64),
            Some(on_dead_code(lane.lane.on_dead)),
        ),
        None => (None, None, None),
    }
}

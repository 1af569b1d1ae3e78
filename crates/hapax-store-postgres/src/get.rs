//! One event with its full history, as of one moment.

use hapax_core::store::{AttemptView, ConflictView, DeliveryView, DuplicateTally, EventRecord};
use hapax_core::{Attempt, DeliveryState, EventId, EventStatus, Token};

use crate::bind::bind;
use crate::duplicates::tally_at;
use crate::failure::Failure;
use crate::rows::{
    bucket_of, count_at, error_at, event_at, event_columns, generation_at, hash_at, id_at, key_bucket,
    key_uuid, optional_id_at, outcome_view, outcome_view_columns, time_at, uuid_of, work_view,
    work_view_columns,
};
use crate::session::Session;

const EVENT: &str = concat!(
    "SELECT ",
    event_columns!(),
    " FROM hapax.events e WHERE e.bucket = $1::int2 AND e.id = $2::uuid"
);

const WORK: &str = concat!(
    "SELECT ",
    work_view_columns!(),
    " FROM hapax.work WHERE bucket = $1::int2 AND id = $2::uuid"
);

const OUTCOMES: &str = concat!(
    "SELECT ",
    outcome_view_columns!(),
    " FROM hapax.outcomes WHERE bucket = $1::int2 AND id = $2::uuid AND is_current"
);

const ATTEMPTS: &str = "
    SELECT destination, generation, token, started_at, duration_ms, status, excerpt, error, message
    FROM hapax.attempts WHERE bucket = $1::int2 AND id = $2::uuid ORDER BY no";

const DUPLICATES: &str = "
    SELECT copies, last_at, gaps FROM hapax.duplicates WHERE bucket = $1::int2 AND key = $2::uuid";

const CONFLICTS: &str = "
    SELECT raw_hash, seen, received_at, octet_length(body)::int8, released_as
    FROM hapax.conflicts WHERE bucket = $1::int2 AND first = $2::uuid ORDER BY no";

const SAME_BODY: &str = "SELECT earlier FROM hapax.same_body WHERE bucket = $1::int2 AND id = $2::uuid";

pub(crate) async fn get(session: &Session, id: EventId) -> Result<Option<EventRecord>, Failure> {
    let (bucket, uuid) = (bucket_of(id), uuid_of(id));
    session.begin_reading().await?;
    let Some(row) = session.optional(EVENT, bind![bucket, uuid]).await? else {
        session.commit().await?;
        return Ok(None);
    };
    let event = event_at(&row)?;
    let key = event.identity.key();
    let deliveries = deliveries(session, bucket, uuid).await?;
    let record = EventRecord {
        status: status(&event.identity.event_id, &deliveries),
        deliveries,
        attempts: attempts(session, bucket, uuid).await?,
        duplicates: duplicates(session, key_bucket(key), key_uuid(key)).await?,
        conflicts: conflicts(session, bucket, uuid).await?,
        same_body_as: same_body(session, bucket, uuid).await?,
        event,
    };
    session.commit().await?;
    Ok(Some(record))
}

/// The status of an event, derived from its deliveries.
fn status(event_id: &str, deliveries: &[DeliveryView]) -> EventStatus {
    if deliveries.is_empty() {
        return EventStatus::without_deliveries(event_id);
    }
    let mut unfinished = deliveries
        .iter()
        .filter(|view| view.state.is_unfinished())
        .peekable();
    if unfinished.peek().is_some() {
        return if unfinished.any(|view| failures(view) > 0) {
            EventStatus::Failed
        } else {
            EventStatus::Pending
        };
    }
    let dead = deliveries.iter().filter(|view| view.state == DeliveryState::Dead);
    EventStatus::of_finished(dead.map(|view| view.error))
}

/// Attempts that have ended.
fn failures(view: &DeliveryView) -> u32 {
    match view.state {
        DeliveryState::Running => view.attempts.saturating_sub(1),
        DeliveryState::Pending
        | DeliveryState::Retrying
        | DeliveryState::Completed
        | DeliveryState::Dead
        | DeliveryState::Discarded => view.attempts,
    }
}

async fn deliveries(session: &Session, bucket: i16, id: uuid::Uuid) -> Result<Vec<DeliveryView>, Failure> {
    let mut views: Vec<DeliveryView> = Vec::new();
    for row in &session.rows(WORK, bind![bucket, id]).await? {
        views.push(work_view(row)?);
    }
    for row in &session.rows(OUTCOMES, bind![bucket, id]).await? {
        views.push(outcome_view(row)?);
    }
    views.sort_by(|one, other| one.destination.cmp(&other.destination));
    Ok(views)
}

async fn attempts(session: &Session, bucket: i16, id: uuid::Uuid) -> Result<Vec<AttemptView>, Failure> {
    let rows = session.rows(ATTEMPTS, bind![bucket, id]).await?;
    rows.iter()
        .map(|row| {
            Ok(AttemptView {
                destination: row.try_get::<_, &str>(0)?.into(),
                generation: generation_at(row, 1)?,
                token: Token(row.try_get::<_, i64>(2)? as u64),
                attempt: Attempt {
                    started_at: time_at(row, 3)?,
                    duration_ms: count_at(row, 4)?,
                    status: row.try_get(5)?,
                    excerpt: text(row.try_get(6)?),
                    error: error_at(row, 7)?,
                    message: row.try_get::<_, Option<&[u8]>>(8)?.map(text),
                },
            })
        })
        .collect()
}

/// Text that is stored as bytes.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

async fn duplicates(
    session: &Session,
    bucket: i16,
    key: uuid::Uuid,
) -> Result<Option<DuplicateTally>, Failure> {
    let row = session.optional(DUPLICATES, bind![bucket, key]).await?;
    row.as_ref().map(tally_at).transpose()
}

async fn conflicts(session: &Session, bucket: i16, id: uuid::Uuid) -> Result<Vec<ConflictView>, Failure> {
    let rows = session.rows(CONFLICTS, bind![bucket, id]).await?;
    rows.iter()
        .map(|row| {
            Ok(ConflictView {
                raw_hash: hash_at(row, 0)?,
                seen: row.try_get::<_, i64>(1)? as u64,
                received_at: time_at(row, 2)?,
                body_bytes: row.try_get::<_, i64>(3)? as u64,
                released_as: optional_id_at(row, 4)?,
            })
        })
        .collect()
}

async fn same_body(session: &Session, bucket: i16, id: uuid::Uuid) -> Result<Option<EventId>, Failure> {
    let row = session.optional(SAME_BODY, bind![bucket, id]).await?;
    row.as_ref().map(|row| id_at(row, 0)).transpose()
}

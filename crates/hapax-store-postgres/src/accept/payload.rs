//! Storing payloads.

use hapax_core::{Generation, NewEvent, Timestamp};

use crate::batch::Batch;
use crate::failure::Failure;
use crate::rows::{bucket_of, key_uuid, uuid_of};
use crate::session::Session;

const INSERT: &str = "INSERT INTO hapax.events {rows}";

/// Stores events under their numbers.
pub(super) async fn insert(
    session: &Session,
    winners: &[(&NewEvent, Generation)],
    numbers: &[i64],
    now: Timestamp,
) -> Result<(), Failure> {
    let events: Vec<&NewEvent> = winners.iter().map(|(event, _)| *event).collect();
    let batch = rows(&events)
        .column("no", numbers.iter().copied())
        .column(
            "generation",
            winners.iter().map(|(_, generation)| i64::from(generation.0)),
        )
        .same("accepted_at", now.as_micros());
    session.write(INSERT, &batch).await
}

/// Rows of `hapax.events`, without what is assigned as they are written.
pub(super) fn rows<'e>(events: &[&'e NewEvent]) -> Batch<'e> {
    let events = || events.iter().copied();
    Batch::in_buckets(events().map(|event| bucket_of(event.id)))
        .column("id", events().map(|event| uuid_of(event.id)))
        .column("key", events().map(|event| key_uuid(event.key)))
        .column("received_at", events().map(|event| event.received_at.as_micros()))
        .column(
            "signed_at",
            events().map(|event| event.signed_at.map(Timestamp::as_micros)),
        )
        .column(
            "secret_index",
            events().map(|event| event.secret_index.map(i32::from)),
        )
        .column(
            "batch_id",
            events().map(|event| event.batch.map(|(id, _)| uuid_of(id))),
        )
        .column(
            "batch_index",
            events().map(|event| event.batch.map(|(_, index)| i64::from(index))),
        )
        .column("scope", events().map(|event| event.identity.scope.as_str()))
        .column("source", events().map(|event| event.source.as_str()))
        .column("event_id", events().map(|event| event.identity.event_id.as_str()))
        .column("type", events().map(|event| event.event_type.as_deref()))
        .column("raw_hash", events().map(|event| &event.raw_hash.as_bytes()[..]))
        .column("headers", events().map(|event| event.headers.as_bytes()))
        .column("body", events().map(|event| &event.body[..]))
}

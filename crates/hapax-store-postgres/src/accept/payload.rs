//! Storing payloads.

use hapax_core::{Generation, NewEvent, Timestamp};
use uuid::Uuid;

use crate::bind::{Column, bind};
use crate::failure::Failure;
use crate::rows::{bucket_of, key_uuid, uuid_of};
use crate::session::Session;

const INSERT: &str = "
    INSERT INTO hapax.events (bucket, id, no, key, generation, received_at, accepted_at, signed_at, secret_index, batch_id,
                              batch_index, scope, source, event_id, type, raw_hash, headers, body)
    SELECT n.bucket, n.id, n.no, n.key, n.generation, n.received_at, $18::int8, n.signed_at, n.secret_index, n.batch_id,
           n.batch_index, n.scope, n.source, n.event_id, n.type, n.raw_hash, n.headers, n.body
    FROM unnest($1::int2[], $2::uuid[], $3::int8[], $4::uuid[], $5::int8[], $6::int8[], $7::int8[], $8::int4[],
                $9::uuid[], $10::int8[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[],
                $16::bytea[], $17::bytea[])
         AS n (bucket, id, no, key, generation, received_at, signed_at, secret_index, batch_id, batch_index, scope,
               source, event_id, type, raw_hash, headers, body)";

/// Stores events under their numbers.
pub(super) async fn insert(
    session: &Session,
    winners: &[(&NewEvent, Generation)],
    numbers: &[i64],
    now: Timestamp,
) -> Result<(), Failure> {
    let events = || winners.iter().map(|(event, _)| *event);
    session
        .execute(
            INSERT,
            bind![
                events().map(|event| bucket_of(event.id)).collect::<Column<i16>>(),
                events().map(|event| uuid_of(event.id)).collect::<Column<Uuid>>(),
                numbers.iter().copied().collect::<Column<i64>>(),
                events()
                    .map(|event| key_uuid(event.key))
                    .collect::<Column<Uuid>>(),
                winners
                    .iter()
                    .map(|(_, generation)| i64::from(generation.0))
                    .collect::<Column<i64>>(),
                events()
                    .map(|event| event.received_at.as_micros())
                    .collect::<Column<i64>>(),
                events()
                    .map(|event| event.signed_at.map(Timestamp::as_micros))
                    .collect::<Column<Option<i64>>>(),
                events()
                    .map(|event| event.secret_index.map(i32::from))
                    .collect::<Column<Option<i32>>>(),
                events()
                    .map(|event| event.batch.map(|(id, _)| uuid_of(id)))
                    .collect::<Column<Option<Uuid>>>(),
                events()
                    .map(|event| event.batch.map(|(_, index)| i64::from(index)))
                    .collect::<Column<Option<i64>>>(),
                events()
                    .map(|event| event.identity.scope.as_str())
                    .collect::<Column<&str>>(),
                events()
                    .map(|event| event.source.as_str())
                    .collect::<Column<&str>>(),
                events()
                    .map(|event| event.identity.event_id.as_str())
                    .collect::<Column<&str>>(),
                events()
                    .map(|event| event.event_type.as_deref())
                    .collect::<Column<Option<&str>>>(),
                events()
                    .map(|event| &event.raw_hash.as_bytes()[..])
                    .collect::<Column<&[u8]>>(),
                events()
                    .map(|event| event.headers.as_bytes())
                    .collect::<Column<&[u8]>>(),
                events().map(|event| &event.body[..]).collect::<Column<&[u8]>>(),
                now.as_micros(),
            ],
        )
        .await
}

//! Indexed body fields: which fields a source has declared, since when, and the values of its events.

use std::collections::BTreeMap;

use hapax_core::store::IndexedField;
use hapax_core::{Generation, NewEvent, Timestamp};

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{bucket_of, time_at, uuid_of};
use crate::session::Session;

// Serialises replicas that start at the same time.
const LOCK: &str = "LOCK TABLE hapax.indexed_fields IN SHARE ROW EXCLUSIVE MODE";

const KNOWN: &str = "SELECT source, pointer, since FROM hapax.indexed_fields";

const DELETE: &str = "DELETE FROM hapax.indexed_fields WHERE source = $1::text AND pointer = $2::text";

const INSERT: &str = "
    INSERT INTO hapax.indexed_fields (source, pointer, since) VALUES ($1::text, $2::text, $3::int8)
    ON CONFLICT (source, pointer) DO NOTHING";

const VALUES: &str = "INSERT INTO hapax.indexed {rows} ON CONFLICT (bucket, id, pointer, digest) DO NOTHING";

/// Replaces the declared fields. Returns since when each is indexed.
pub(crate) async fn declare(
    session: &Session,
    fields: &[IndexedField],
) -> Result<Vec<(IndexedField, Timestamp)>, Failure> {
    session.begin().await?;
    session.execute(LOCK, &[]).await?;
    let mut known = known(session).await?;
    // Read after the lock: its previous holder may have changed the indexed fields.
    let now = session.now().await?;
    let mut declared = Vec::with_capacity(fields.len());
    for field in fields {
        let since = known.get(field).copied().unwrap_or(now);
        let (source, pointer) = (field.source.as_str(), field.pointer.as_str());
        session
            .execute(INSERT, bind![source, pointer, since.as_micros()])
            .await?;
        declared.push((field.clone(), since));
    }
    known.retain(|field, _| !fields.contains(field));
    for field in known.keys() {
        session
            .execute(DELETE, bind![field.source.as_str(), field.pointer.as_str()])
            .await?;
    }
    session.commit().await?;
    Ok(declared)
}

/// Stores the values of events under their numbers. If no fields are declared, the database is not asked.
pub(crate) async fn insert(
    session: &Session,
    winners: &[(&NewEvent, Generation)],
    numbers: &[i64],
) -> Result<(), Failure> {
    let values = winners.iter().zip(numbers).flat_map(|((event, _), number)| {
        let values = event.indexed.iter();
        values.map(move |value| (event.id, *number, value))
    });
    let values: Vec<_> = values.collect();
    let batch = Batch::in_buckets(values.iter().map(|(id, ..)| bucket_of(*id)))
        .column("id", values.iter().map(|(id, ..)| uuid_of(*id)))
        .column("digest", values.iter().map(|(.., value)| value.digest))
        .column("no", values.iter().map(|(_, number, _)| *number))
        .column("pointer", values.iter().map(|(.., value)| value.pointer.as_str()));
    session.write(VALUES, &batch).await
}

async fn known(session: &Session) -> Result<BTreeMap<IndexedField, Timestamp>, Failure> {
    let rows = session.rows(KNOWN, &[]).await?;
    rows.iter()
        .map(|row| {
            let field = IndexedField {
                source: row.try_get::<_, &str>(0)?.into(),
                pointer: row.try_get(1)?,
            };
            Ok((field, time_at(row, 2)?))
        })
        .collect()
}

//! Other bodies under a known identity: kept apart, looked at, released.

use bytes::Bytes;
use hapax_core::store::{CONFLICTS_MAX, Quarantined, Variant};
use hapax_core::{BodyHash, EventId, Headers};

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::noted::{self, Noted};
use crate::rows::{bucket_of, key_at, key_bucket, key_uuid, time_at, uuid_of};
use crate::session::Session;

// Two replicas that quarantine for one identity count one after the other.
const LOCK: &str = "
    SELECT l.key FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
    ORDER BY l.bucket + 0, l.key FOR UPDATE OF l";

const AGAIN: &str = "
    UPDATE hapax.conflicts SET seen = seen + 1
    WHERE bucket = $1::int2 AND first = $2::uuid AND raw_hash = $3::bytea RETURNING seen";

const COUNT: &str = "SELECT count(*) FROM hapax.conflicts WHERE bucket = $1::int2 AND first = $2::uuid";

const INSERT: &str = "
    INSERT INTO hapax.conflicts (bucket, first, raw_hash, no, key, received_at, seen, source, headers, body)
    VALUES ($1::int2, $2::uuid, $3::bytea, $4::int8, $5::uuid, $6::int8, 1, $7::text, $8::bytea, $9::bytea)
    ON CONFLICT (bucket, first, raw_hash) DO NOTHING";

const SELECT: &str = "
    SELECT key, source, received_at, headers, body FROM hapax.conflicts
    WHERE bucket = $1::int2 AND first = $2::uuid AND raw_hash = $3::bytea";

const RELEASE: &str = "
    UPDATE hapax.conflicts SET released_as = $4::uuid
    WHERE bucket = $1::int2 AND first = $2::uuid AND raw_hash = $3::bytea";

/// Keeps variants, each body once.
pub(crate) async fn quarantine(session: &Session, variants: &[Variant]) -> Result<Vec<Quarantined>, Failure> {
    if variants.is_empty() {
        return Ok(Vec::new());
    }
    session.begin().await?;
    let keys = Batch::in_buckets(variants.iter().map(|variant| key_bucket(variant.key)))
        .column("key", variants.iter().map(|variant| key_uuid(variant.key)));
    session.write(LOCK, &keys).await?;
    let mut answers = Vec::with_capacity(variants.len());
    for variant in variants {
        answers.push(keep(session, variant).await?);
    }
    let kept = variants.iter().zip(&answers);
    let kept: Vec<_> = kept
        .filter(|(_, answer)| **answer == Quarantined::Kept)
        .map(|(variant, _)| (bucket_of(variant.first), uuid_of(variant.first)))
        .collect();
    noted::note(session, Noted::Conflict, &kept).await?;
    session.commit().await?;
    Ok(answers)
}

async fn keep(session: &Session, variant: &Variant) -> Result<Quarantined, Failure> {
    let (bucket, first) = (bucket_of(variant.first), uuid_of(variant.first));
    let raw_hash = &variant.raw_hash.as_bytes()[..];
    if session
        .optional(AGAIN, bind![bucket, first, raw_hash])
        .await?
        .is_some()
    {
        return Ok(Quarantined::Again);
    }
    let kept: i64 = session.one(COUNT, bind![bucket, first]).await?.try_get(0)?;
    if kept >= CONFLICTS_MAX as i64 {
        return Ok(Quarantined::Full);
    }
    let (_, mut numbers) = session.take(1).await?;
    session
        .execute(
            INSERT,
            bind![
                bucket,
                first,
                raw_hash,
                numbers.next()?,
                key_uuid(variant.key),
                variant.received_at.as_micros(),
                variant.source.as_str(),
                variant.headers.as_bytes(),
                &variant.body[..],
            ],
        )
        .await?;
    Ok(Quarantined::Kept)
}

/// A quarantined body.
pub(crate) async fn conflict(
    session: &Session,
    (first, raw_hash): &(EventId, BodyHash),
) -> Result<Option<Variant>, Failure> {
    let (bucket, id, hash) = (bucket_of(*first), uuid_of(*first), &raw_hash.as_bytes()[..]);
    let Some(row) = session.optional(SELECT, bind![bucket, id, hash]).await? else {
        return Ok(None);
    };
    Ok(Some(Variant {
        key: key_at(&row, 0)?,
        first: *first,
        source: row.try_get::<_, &str>(1)?.into(),
        raw_hash: *raw_hash,
        received_at: time_at(&row, 2)?,
        headers: Headers::from_bytes(Bytes::copy_from_slice(row.try_get(3)?)),
        body: Bytes::copy_from_slice(row.try_get(4)?),
    }))
}

/// Notes as which event a body was released.
pub(crate) async fn mark_released(
    session: &Session,
    (first, raw_hash, event): &(EventId, BodyHash, EventId),
) -> Result<(), Failure> {
    let (bucket, id, hash) = (bucket_of(*first), uuid_of(*first), &raw_hash.as_bytes()[..]);
    session.begin().await?;
    session
        .execute(RELEASE, bind![bucket, id, hash, uuid_of(*event)])
        .await?;
    session.commit().await
}

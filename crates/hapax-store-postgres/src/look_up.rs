//! Looking up identities in the ledger.

use hapax_core::store::LedgerEntry;
use hapax_core::{ContentHash, EventId, Generation, Identity, Key};
use tokio_postgres::Row;

use crate::bind::bind;
use crate::failure::Failure;
use crate::rows::{generation_at, hash_at, id_at, key_at, key_bucket, key_uuid, optional_hash_at, time_at};
use crate::session::Session;

/// The columns that [`holder_at`] reads.
macro_rules! holder_columns {
    () => {
        "l.key, l.id, l.generation, l.first_seen, l.expires_at, l.raw_hash, l.content_rule, l.content_hash, l.forgotten"
    };
}
pub(crate) use holder_columns;

const SELECT: &str = concat!(
    "SELECT ",
    holder_columns!(),
    " FROM hapax.ledger l WHERE l.bucket = $1::int2 AND l.key = $2::uuid"
);

/// The current state of an identity.
#[derive(Clone, Debug)]
pub(crate) enum Holder {
    /// It belongs to an event.
    Event(LedgerEntry),
    /// It was forgotten; the next event takes it.
    Forgotten {
        /// The event that had it.
        last: EventId,
        /// The generation of its next event.
        next: Generation,
    },
}

/// The ledger entry of an identity.
pub(crate) async fn look_up(session: &Session, identity: &Identity) -> Result<Option<LedgerEntry>, Failure> {
    let key = identity.key();
    let row = session
        .optional(SELECT, bind![key_bucket(key), key_uuid(key)])
        .await?;
    Ok(match row.as_ref().map(holder_at).transpose()? {
        Some((_, Holder::Event(entry))) => Some(entry),
        Some((_, Holder::Forgotten { .. })) | None => None,
    })
}

/// A key and the state of its identity. The columns are those of `holder_columns`.
pub(crate) fn holder_at(row: &Row) -> Result<(Key, Holder), Failure> {
    let key = key_at(row, 0)?;
    let id = id_at(row, 1)?;
    let generation = generation_at(row, 2)?;
    if row.try_get(8)? {
        let forgotten = Holder::Forgotten {
            last: id,
            next: generation,
        };
        return Ok((key, forgotten));
    }
    let rule: Option<String> = row.try_get(6)?;
    let hash = optional_hash_at(row, 7)?;
    let entry = LedgerEntry {
        id,
        generation,
        first_seen: time_at(row, 3)?,
        expires_at: time_at(row, 4)?,
        raw_hash: hash_at(row, 5)?,
        content_hash: rule.zip(hash).map(|(rule, hash)| ContentHash { rule, hash }),
    };
    Ok((key, Holder::Event(entry)))
}

//! Duplicate tallies, gathered by the caller and added here: off the hot path, lossy by design.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::store::{DuplicateNote, DuplicateTally, GAPS_MAX};
use hapax_core::{Identity, Key, Timestamp};
use tokio_postgres::Row;

use crate::batch::Batch;
use crate::bind::bind;
use crate::failure::Failure;
use crate::noted;
use crate::rows::{key_at, key_bucket, key_uuid, time_at};
use crate::session::Session;

/// Bytes of one gap.
const GAP_BYTES: usize = 8;

// A key that the ledger has since forgotten is skipped: nothing would ever delete its tally.
const KNOWN: &str = "
    SELECT l.key FROM {n} JOIN hapax.ledger l ON l.bucket = {bucket} AND l.key = n.key
    ORDER BY l.bucket + 0, l.key FOR KEY SHARE OF l";

const ADD: &str = "
    INSERT INTO hapax.duplicates AS d {sorted rows}
    ON CONFLICT (bucket, key) DO UPDATE
    SET copies = d.copies + excluded.copies, last_at = greatest(d.last_at, excluded.last_at),
        gaps = substring(d.gaps || excluded.gaps
                         FROM greatest(octet_length(d.gaps) + octet_length(excluded.gaps) - $6::int4 + 1, 1))";

const SELECT: &str = "
    SELECT copies, last_at, gaps FROM hapax.duplicates WHERE bucket = $1::int2 AND key = $2::uuid";

/// The tally of an identity, for readers.
pub(crate) async fn tally(session: &Session, identity: &Identity) -> Result<Option<DuplicateTally>, Failure> {
    let key = identity.key();
    let found = session
        .optional(SELECT, bind![key_bucket(key), key_uuid(key)])
        .await?;
    found.as_ref().map(tally_at).transpose()
}

pub(crate) async fn note_duplicates(session: &Session, notes: &[DuplicateNote]) -> Result<(), Failure> {
    if notes.is_empty() {
        return Ok(());
    }
    // One row per key: a statement cannot add to the same row twice.
    let mut sums: BTreeMap<Key, DuplicateTally> = BTreeMap::new();
    for note in notes {
        let sum = sums.entry(note.key).or_default();
        sum.count = sum.count.saturating_add(note.count);
        sum.last_at = sum.last_at.max(note.last_at);
        sum.gaps_ms.extend(&note.gaps_ms);
        let surplus = sum.gaps_ms.len().saturating_sub(GAPS_MAX);
        sum.gaps_ms.drain(..surplus);
    }
    let gaps = |tally: &DuplicateTally| -> Vec<u8> {
        tally.gaps_ms.iter().flat_map(|gap| gap.to_be_bytes()).collect()
    };
    session.begin().await?;
    let keys = Batch::in_buckets(sums.keys().map(|key| key_bucket(*key)))
        .column("key", sums.keys().map(|key| key_uuid(*key)));
    let mut known: BTreeSet<Key> = BTreeSet::new();
    for row in &session.over(KNOWN, &keys).await? {
        known.insert(key_at(row, 0)?);
    }
    sums.retain(|key, _| known.contains(key));
    // Also for identities that already have duplicates: a replica of an earlier version counts them without marking the
    // event.
    let names: Vec<_> = sums
        .keys()
        .map(|key| (key_bucket(*key), key_uuid(*key)))
        .collect();
    noted::note_duplicates(session, &names).await?;
    let count = |tally: &DuplicateTally| i64::try_from(tally.count).unwrap_or(i64::MAX);
    let batch = Batch::in_buckets(sums.keys().map(|key| key_bucket(*key)))
        .column("key", sums.keys().map(|key| key_uuid(*key)))
        .column("copies", sums.values().map(count))
        .column("last_at", sums.values().map(|tally| tally.last_at.as_micros()))
        .column("gaps", sums.values().map(gaps))
        .value((GAPS_MAX * GAP_BYTES) as i32);
    session.write(ADD, &batch).await?;
    session.commit().await
}

/// A tally. The columns are count, last time and gaps.
pub(crate) fn tally_at(row: &Row) -> Result<DuplicateTally, Failure> {
    let gaps: &[u8] = row.try_get(2)?;
    let last_at: Timestamp = time_at(row, 1)?;
    Ok(DuplicateTally {
        count: row.try_get::<_, i64>(0)? as u64,
        last_at,
        gaps_ms: gaps_of(gaps),
    })
}

pub(crate) fn gaps_of(bytes: &[u8]) -> Vec<u64> {
    let chunks = bytes.as_chunks::<GAP_BYTES>().0;
    chunks.iter().map(|gap| u64::from_be_bytes(*gap)).collect()
}

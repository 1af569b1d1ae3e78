//! Duplicate tallies, gathered by the caller and added here: off the hot path, lossy by design. Stored with the ledger,
//! so that they last as long as its entry.

use std::sync::Arc;

use hapax_core::store::{DuplicateNote, DuplicateTally, GAPS_MAX};
use hapax_core::{Key, Timestamp};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::link::Link;
use crate::script::TALLY;
use crate::shards::Shard;
use crate::snapshot::Command;
use crate::spread::by_shard;
use crate::{ledger, packed, reply};

/// A tally as `scripts/tally.lua` writes it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Tally {
    #[serde(rename = "copies")]
    count: u64,
    last: i64,
    gaps: Vec<u64>,
}

/// Adds duplicates. A key that the ledger has since forgotten is skipped: nothing would ever delete its tally.
pub(crate) async fn note(link: &Arc<Link>, notes: Vec<DuplicateNote>) -> Result<(), Failure> {
    let calls = by_shard(notes, |note| link.shards().of_key(note.key));
    let calls = calls.into_iter().map(|(shard, notes)| add(link, shard, notes));
    futures_util::future::try_join_all(calls).await?;
    Ok(())
}

async fn add(link: &Link, shard: Shard, notes: Vec<(usize, DuplicateNote)>) -> Result<(), Failure> {
    let mut args = vec![link.floor(), GAPS_MAX.to_string().into_bytes()];
    for (_, note) in &notes {
        args.extend([
            ledger::bucket(note.key).into_bytes(),
            note.key.as_bytes().to_vec(),
            note.count.to_string().into_bytes(),
            note.last_at.as_micros().to_string().into_bytes(),
            packed::pack(&note.gaps_ms)?,
        ]);
    }
    link.call(shard, &TALLY, &args).await?;
    Ok(())
}

/// The tally of an identity.
pub(crate) async fn tally(link: &Link, key: Key) -> Result<Option<DuplicateTally>, Failure> {
    let mut snapshot = link.read(link.shards().of_key(key), vec![look(key)]).await?;
    read(snapshot.next()?)
}

/// The command that reads a tally.
pub(crate) fn look(key: Key) -> Command {
    Command::new("HGET", tallies(key)).arg(*key.as_bytes())
}

/// Decodes a tally.
pub(crate) fn read(value: redis::Value) -> Result<Option<DuplicateTally>, Failure> {
    let Some(bytes) = reply::optional_bytes(value)? else {
        return Ok(None);
    };
    let tally: Tally = packed::unpack(&bytes, "a tally of duplicates")?;
    Ok(Some(DuplicateTally {
        count: tally.count,
        last_at: Timestamp::from_micros(tally.last),
        gaps_ms: tally.gaps,
    }))
}

/// The command that stores a tally.
pub(crate) fn keep(key: Key, tally: &DuplicateTally) -> Result<Command, Failure> {
    let tally = Tally {
        count: tally.count,
        last: tally.last_at.as_micros(),
        gaps: tally.gaps_ms.clone(),
    };
    Ok(Command::new("HSET", tallies(key))
        .arg(*key.as_bytes())
        .arg(packed::pack(&tally)?))
}

fn tallies(key: Key) -> String {
    format!("c{}", ledger::bucket(key))
}

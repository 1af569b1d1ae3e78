//! Tallies of copies, gathered above and added here: off the hot path, lossy by design. Beside the ledger, so that they
//! stay as long as its entry.

use std::sync::Arc;

use hapax_core::Key;
use hapax_core::store::{DuplicateNote, DuplicateTally, GAPS_MAX};

use crate::failure::Failure;
use crate::link::Link;
use crate::script::TALLY;
use crate::shards::Shard;
use crate::spread::by_shard;
use crate::{copies, ledger, packed};

/// Adds copies. A key that the ledger has forgotten meanwhile is left out: nothing would ever delete its tally.
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
            note.copies.to_string().into_bytes(),
            note.last_at.as_micros().to_string().into_bytes(),
            packed::pack(&note.gaps_ms)?,
        ]);
    }
    link.call(shard, &TALLY, &args).await?;
    Ok(())
}

/// The tally of an identity.
pub(crate) async fn copies(link: &Link, key: Key) -> Result<Option<DuplicateTally>, Failure> {
    let found = copies::read(link, link.shards().of_key(key), &[key]).await?;
    Ok(found.into_iter().next().flatten())
}

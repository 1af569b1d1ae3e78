//! Tallies of copies, as `scripts/tally.lua` writes them: one for each identity, beside the ledger.

use hapax_core::store::DuplicateTally;
use hapax_core::{Key, Timestamp};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::link::Link;
use crate::shards::Shard;
use crate::snapshot::Command;
use crate::{ledger, packed, reply};

/// A tally, stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    copies: u64,
    last: i64,
    gaps: Vec<u64>,
}

impl Tally {
    pub(crate) fn of(tally: &DuplicateTally) -> Self {
        Self {
            copies: tally.copies,
            last: tally.last_at.as_micros(),
            gaps: tally.gaps_ms.clone(),
        }
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<DuplicateTally, Failure> {
        let tally: Self = packed::unpack(bytes, "a tally of copies")?;
        Ok(DuplicateTally {
            copies: tally.copies,
            last_at: Timestamp::from_micros(tally.last),
            gaps_ms: tally.gaps,
        })
    }
}

/// In which of a shard's hashes the tally of a key is.
pub(crate) fn hash_of(key: Key) -> String {
    format!("c{}", ledger::bucket(key))
}

/// The tallies of some identities of a shard, in their order.
pub(crate) async fn read(
    link: &Link,
    shard: Shard,
    keys: &[Key],
) -> Result<Vec<Option<DuplicateTally>>, Failure> {
    let commands = keys
        .iter()
        .map(|key| Command::new("HGET", hash_of(*key)).arg(*key.as_bytes()))
        .collect();
    let answers = link.read(shard, commands).await?.answers;
    answers
        .map(|answer| {
            let found = reply::optional_bytes(answer)?;
            found.map(|bytes| Tally::read(&bytes)).transpose()
        })
        .collect()
}

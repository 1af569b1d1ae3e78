//! The ledger of all shards, in key order.
//!
//! A shard has it in many hashes that sort as keys do. The walk asks for the sizes of the next hashes, and reads as
//! many as it needs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use hapax_core::{EventId, Key};

use super::scopes;
use crate::event::sixteen;
use crate::failure::{Failure, damaged};
use crate::identity::earlier;
use crate::ledger::{self, BUCKETS, Entry};
use crate::link::{Link, on_each};
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::{Command, Snapshot};

/// Hashes whose sizes are read at once.
const RUN: usize = 512;

/// An identity: its entry, and all events that ever had it, by id. Some may be deleted.
pub(super) struct Line {
    pub(super) shard: Shard,
    pub(super) key: Key,
    pub(super) scope: String,
    pub(super) entry: Entry,
    pub(super) events: Vec<EventId>,
}

/// The position of a walk.
pub(super) struct Walk {
    next: usize,
    after: Option<Key>,
}

impl Walk {
    pub(super) fn after(after: Option<Key>) -> Self {
        let next = after.and_then(|key| usize::from_str_radix(&ledger::bucket(key), 16).ok());
        Self {
            next: next.unwrap_or(0),
            after,
        }
    }

    /// The next identities by key: at least `count`, if there are that many; empty at the end.
    pub(super) async fn next(&mut self, link: &Arc<Link>, count: usize) -> Result<Vec<Line>, Failure> {
        let mut lines = Vec::new();
        while lines.len() < count && self.next < BUCKETS {
            let run = self.next..BUCKETS.min(self.next + RUN);
            let sizes = on_each(link, |link, shard| sizes(link, shard, run.clone())).await?;
            let chosen = choose(&run, &sizes, count - lines.len());
            self.next = chosen.end;
            let read = on_each(link, |link, shard| {
                let sizes = &sizes[usize::from(shard.0)];
                let full = chosen.clone().filter(|bucket| sizes[bucket - run.start] > 0);
                read(link, shard, full.map(name).collect())
            });
            let mut read: Vec<Line> = read.await?.into_iter().flatten().collect();
            read.retain(|line| self.after.is_none_or(|after| line.key > after));
            read.sort_unstable_by_key(|line| line.key);
            lines.extend(read);
        }
        Ok(lines)
    }
}

/// The first hashes of a run that together have this many entries, or the whole run.
fn choose(run: &Range<usize>, sizes: &[Vec<u64>], count: usize) -> Range<usize> {
    let mut entries = 0;
    for bucket in run.clone() {
        let in_bucket = sizes.iter().map(|sizes| sizes[bucket - run.start]);
        entries += in_bucket.sum::<u64>();
        if entries >= count as u64 {
            return run.start..bucket + 1;
        }
    }
    run.clone()
}

fn name(bucket: usize) -> String {
    format!("l{bucket:03x}")
}

async fn sizes(link: Arc<Link>, shard: Shard, run: Range<usize>) -> Result<Vec<u64>, Failure> {
    let length = run.len();
    let commands = run.map(|bucket| Command::new("HLEN", name(bucket)));
    let answers = link.read(shard, commands.collect()).await?.answers;
    let sizes: Vec<u64> = answers.map(reply::number).collect::<Result<_, _>>()?;
    if sizes.len() != length {
        return Err(damaged("the sizes of the ledger"));
    }
    Ok(sizes)
}

/// The entries in some hashes of a shard.
async fn read(link: Arc<Link>, shard: Shard, names: Vec<String>) -> Result<Vec<Line>, Failure> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let scopes: BTreeMap<u16, String> = scopes::known(&link, shard)
        .await?
        .into_iter()
        .map(|(scope, number)| (number, scope))
        .collect();
    let commands = names.into_iter().map(|name| Command::new("HGETALL", name));
    let mut lines = Vec::new();
    for hash in link.read(shard, commands.collect()).await?.answers {
        for (key, entry) in reply::pairs(hash)? {
            let entry = Entry::from_bytes(&entry)?;
            lines.push(Line {
                shard,
                key: Key::from_bytes(sixteen(&key)?),
                scope: scopes
                    .get(&entry.scope)
                    .cloned()
                    .ok_or_else(|| damaged("a scope"))?,
                events: vec![entry.known.id],
                entry,
            });
        }
    }
    add_earlier(&link, shard, &mut lines).await?;
    Ok(lines)
}

/// Adds the events from before an identity was forgotten.
async fn add_earlier(link: &Link, shard: Shard, lines: &mut [Line]) -> Result<(), Failure> {
    let mut lived_before: Vec<&mut Line> = lines
        .iter_mut()
        .filter(|line| line.entry.known.generation.0 > 0)
        .collect();
    if lived_before.is_empty() {
        return Ok(());
    }
    let commands = lived_before
        .iter()
        .map(|line| Command::new("HGET", "k").arg(*line.key.as_bytes()));
    let mut snapshot: Snapshot = link.read(shard, commands.collect()).await?;
    for line in &mut lived_before {
        let ids = reply::optional_bytes(snapshot.next()?)?.unwrap_or_default();
        line.events.extend(earlier(&ids));
        line.events.sort_unstable();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_takes_as_many_hashes_as_have_what_is_asked_for() {
        let sizes = [vec![1, 0, 2, 5], vec![0, 0, 1, 5]];
        assert_eq!(choose(&(8..12), &sizes, 1), 8..9);
        assert_eq!(choose(&(8..12), &sizes, 2), 8..11);
        assert_eq!(choose(&(8..12), &sizes, 4), 8..11);
        assert_eq!(choose(&(8..12), &sizes, 5), 8..12);
        assert_eq!(choose(&(8..12), &sizes, 99), 8..12);
    }

    #[test]
    fn a_walk_begins_where_its_key_is() {
        let key = Key::from_bytes([0xab; 16]);
        assert_eq!(Walk::after(Some(key)).next, 0x2ae);
        assert_eq!(Walk::after(None).next, 0);
        assert_eq!(name(0x2ae), format!("l{}", ledger::bucket(key)));
    }
}

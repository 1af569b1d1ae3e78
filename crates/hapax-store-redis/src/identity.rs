//! An identity: its ledger entry and the events that had it.

use hapax_core::{EventId, Key};

use crate::event::EventRow;
use crate::failure::Failure;
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::Command;

/// The stored parts of an identity.
pub(crate) struct Known {
    pub(crate) entry: Entry,
    /// Its stored events, by id, without their bodies: the entry's own, and those from before it was forgotten.
    pub(crate) events: Vec<EventRow>,
}

/// The key of an event, without its shard's tag.
pub(crate) fn event_key(id: EventId) -> Vec<u8> {
    [b"e", &id.as_bytes()[..]].concat()
}

pub(crate) async fn read(link: &Link, key: Key) -> Result<Option<Known>, Failure> {
    let shard = link.shards().of_key(key);
    let commands = vec![
        Command::new("HGET", format!("l{}", ledger::bucket(key))).arg(*key.as_bytes()),
        Command::new("HGET", "k").arg(*key.as_bytes()),
    ];
    let mut snapshot = link.read(shard, commands).await?;
    let Some(entry) = reply::optional_bytes(snapshot.next()?)? else {
        return Ok(None);
    };
    let entry = Entry::from_bytes(&entry)?;
    let mut ids = earlier(&reply::optional_bytes(snapshot.next()?)?.unwrap_or_default());
    ids.push(entry.known.id);
    ids.sort_unstable();
    let events = rows(link, shard, &ids).await?;
    Ok(Some(Known { entry, events }))
}

/// Concatenated ids.
pub(crate) fn earlier(bytes: &[u8]) -> Vec<EventId> {
    let (ids, _) = bytes.as_chunks();
    ids.iter().map(|id| EventId::from_bytes(*id)).collect()
}

/// The events of one shard that are still stored, without their bodies, in one snapshot.
pub(crate) async fn rows(link: &Link, shard: Shard, ids: &[EventId]) -> Result<Vec<EventRow>, Failure> {
    let args: Vec<Vec<u8>> = std::iter::once(link.floor())
        .chain(ids.iter().map(|id| id.as_bytes().to_vec()))
        .collect();
    let answers = reply::list(link.call(shard, &crate::script::LOOK, &args).await?)?;
    let mut rows = Vec::with_capacity(ids.len());
    for (id, fields) in ids.iter().zip(answers) {
        rows.extend(EventRow::read(*id, reply::pairs(fields)?)?);
    }
    Ok(rows)
}

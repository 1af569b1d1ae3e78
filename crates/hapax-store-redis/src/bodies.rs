//! Bodies from providers that do not sign the id: the same body under another id is flagged.
//!
//! A body is in the shard given by its hash, a flagged event in its own. An interrupted note is completed when it is
//! repeated. Names bound to a body are stored here too. If events with the same body are to be held instead, the accept
//! claims the body first ([`claim`]).

mod claim;

use std::sync::Arc;

use hapax_core::store::BodyNote;
use hapax_core::{BodyHash, EventId, Scope, Timestamp};

use crate::event::split;
use crate::failure::{Failure, damaged};
use crate::identity::event_key;
use crate::link::{Link, on_each};
use crate::reply;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Made, Room};
use crate::spread::by_shard;

pub(crate) use claim::{BodyClaim, claim, name as name_claim, rename};

/// Bodies by expiry time.
const EXPIRING: &str = "X";
/// Bodies that one call of `purge` deletes in each shard.
const PURGED_MAX: u32 = 1_000;

/// Remembers the first event of each body and flags later events with the same body.
pub(crate) async fn note(link: &Link, notes: Vec<BodyNote>) -> Result<(), Failure> {
    let calls = by_shard(notes, |note| shard_of(link, note.raw_hash));
    let calls = calls
        .into_iter()
        .map(|(shard, notes)| note_some(link, shard, notes));
    futures_util::future::try_join_all(calls).await?;
    Ok(())
}

async fn note_some(link: &Link, shard: Shard, notes: Vec<(usize, BodyNote)>) -> Result<(), Failure> {
    let changes: Vec<Change> = notes.iter().map(|(_, note)| keep(note)).collect();
    let made = link.apply(shard, &changes, Room::Needed).await?;
    for ((_, note), made) in notes.iter().zip(made) {
        if made == Made::No
            && let Some(first) = first(link, shard, note).await?
        {
            flag(link, note.id, first).await?;
        }
    }
    Ok(())
}

/// Returns whether a name is bound to this body, binding it now if it was free.
pub(crate) async fn bind(link: &Link, note: &BodyNote) -> Result<bool, Failure> {
    let shard = shard_of(link, note.raw_hash);
    let bound = link.apply_one(shard, keep(note)).await? == Made::Yes;
    Ok(bound || first(link, shard, note).await?.is_none())
}

/// The change that stores a body, unless it is known.
pub(crate) fn keep(note: &BodyNote) -> Change {
    let key = key(&note.scope, note.raw_hash);
    let mut change = Change::default().when(key.clone(), *note.raw_hash.as_bytes(), "");
    change.then(
        Command::new("HSET", key)
            .arg(*note.raw_hash.as_bytes())
            .arg(value(note)),
    );
    change.then(
        Command::new("ZADD", EXPIRING)
            .number(note.until.as_micros())
            .arg(name(note)),
    );
    change
}

fn value(note: &BodyNote) -> Vec<u8> {
    [&note.id.as_bytes()[..], &note.until.as_micros().to_be_bytes()].concat()
}

/// The shard of a body: the same for all bodies whose hashes begin with the same byte.
pub(crate) fn shard_of(link: &Link, hash: BodyHash) -> Shard {
    Shard(hash.as_bytes()[0] % link.shards().count())
}

/// The key of the hash that a body is in. These keys sort as the hashes of bodies do.
pub(crate) fn key(scope: &Scope, hash: BodyHash) -> String {
    format!("B{scope}\0{:02x}", hash.as_bytes()[0])
}

/// Decodes a stored body: its hash, and the first event's id and the end of the note.
pub(crate) fn read(scope: &Scope, hash: &[u8], value: &[u8]) -> Result<BodyNote, Failure> {
    let unreadable = || damaged("a remembered body");
    let hash: [u8; 32] = hash.try_into().map_err(|_| unreadable())?;
    let (id, until) = value.split_first_chunk().ok_or_else(unreadable)?;
    let until = until.try_into().map_err(|_| unreadable())?;
    Ok(BodyNote {
        scope: scope.clone(),
        raw_hash: BodyHash::from_bytes(hash),
        id: EventId::from_bytes(*id),
        until: Timestamp::from_micros(i64::from_be_bytes(until)),
    })
}

/// The first event with this body, if it is another.
async fn first(link: &Link, shard: Shard, note: &BodyNote) -> Result<Option<EventId>, Failure> {
    let command = Command::new("HGET", key(&note.scope, note.raw_hash)).arg(*note.raw_hash.as_bytes());
    let Some(value) = reply::optional_bytes(link.read(shard, vec![command]).await?.next()?)? else {
        return Ok(None);
    };
    let first = read(&note.scope, note.raw_hash.as_bytes(), &value)?.id;
    Ok(Some(first).filter(|first| *first != note.id))
}

/// The subset of these bodies that are remembered.
pub(crate) async fn remembered(
    link: &Link,
    bodies: Vec<(Scope, BodyHash)>,
) -> Result<Vec<BodyNote>, Failure> {
    let mut notes = Vec::new();
    for (shard, bodies) in by_shard(bodies, |(_, hash)| shard_of(link, *hash)) {
        let commands = bodies
            .iter()
            .map(|(_, (scope, hash))| Command::new("HGET", key(scope, *hash)).arg(*hash.as_bytes()));
        let mut snapshot = link.read(shard, commands.collect()).await?;
        for (_, (scope, hash)) in bodies {
            if let Some(value) = reply::optional_bytes(snapshot.next()?)? {
                notes.push(read(&scope, hash.as_bytes(), &value)?);
            }
        }
    }
    Ok(notes)
}

/// Flags an event that is still stored, once.
async fn flag(link: &Link, id: EventId, earlier: EventId) -> Result<(), Failure> {
    let shard = link.shards().of_event(id);
    let command = Command::new("HGET", event_key(id)).arg("h");
    let Some(head) = reply::optional_bytes(link.read(shard, vec![command]).await?.next()?)? else {
        return Ok(());
    };
    let mut change = Change::default()
        .when(event_key(id), "h", head)
        .when(event_key(id), "s", "");
    change.then(
        Command::new("HSET", event_key(id))
            .arg("s")
            .arg(*earlier.as_bytes()),
    );
    // If another process was faster, it has flagged the event or deleted it.
    link.apply_one(shard, change).await?;
    Ok(())
}

/// Deletes some expired bodies in each shard. Returns whether there may be more.
pub(crate) async fn purge(link: &Arc<Link>) -> Result<bool, Failure> {
    let purged = on_each(link, purge_some).await?;
    Ok(purged.into_iter().any(|purged| purged == PURGED_MAX as usize))
}

async fn purge_some(link: Arc<Link>, shard: Shard) -> Result<usize, Failure> {
    let now = link.read(shard, Vec::new()).await?.now;
    let command = Command::new("ZRANGEBYSCORE", EXPIRING)
        .arg("-inf")
        .arg(format!("({}", now.as_micros()))
        .arg("LIMIT")
        .number(0)
        .number(PURGED_MAX);
    let mut changes = Vec::new();
    for name in reply::list(link.read(shard, vec![command]).await?.next()?)? {
        let name = reply::bytes(name)?;
        let (scope, hash) = split(&name)?;
        let first = hash.first().ok_or_else(|| damaged("a remembered body"))?;
        let mut change = Change::default();
        for kind in [b"B", b"K"] {
            let key = [kind, scope, format!("\0{first:02x}").as_bytes()].concat();
            change.then(Command::new("HDEL", key).arg(hash));
        }
        change.then(Command::new("ZREM", EXPIRING).arg(name.clone()));
        changes.push(change);
    }
    link.apply(shard, &changes, Room::NotNeeded).await?;
    Ok(changes.len())
}

fn name(note: &BodyNote) -> Vec<u8> {
    [note.scope.as_str().as_bytes(), &[0], note.raw_hash.as_bytes()].concat()
}

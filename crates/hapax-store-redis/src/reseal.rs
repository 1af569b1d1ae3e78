//! Re-encryption: rows are rewritten, each only if it is still as it was read. An append-only file keeps the old rows
//! until it is rewritten.

use hapax_core::store::{AttemptView, ConflictingBody, IndexedValue, LedgerEntry, Resealed};
use hapax_core::{EventId, Key, StoredEvent};

use crate::accept::index_name;
use crate::conflicts::{add, contents_key, other_body};
use crate::event::{Conflict, Head, attempt_field, conflict_field, pack_body, unpack_body};
use crate::failure::Failure;
use crate::identity::event_key;
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::snapshot::{Change, Command, Room};
use crate::{bodies, json, packed, reply};

/// Rewrites rows. A row that another process is changing is left for the next time.
pub(crate) async fn reseal(link: &Link, rows: Vec<Resealed>) -> Result<(), Failure> {
    for row in rows {
        match row {
            Resealed::Entry { key, before, after } => entry(link, key, &before, after).await?,
            Resealed::Event { before, after } => event(link, &before, &after).await?,
            Resealed::Indexed { event, before, after } => indexed(link, event, &before, &after).await?,
            Resealed::Attempt { event, before, after } => attempt(link, event, &before, &after).await?,
            Resealed::Conflict { before, after } => conflict(link, &before, &after).await?,
            Resealed::Body { before, after } => bodies::rename(link, &before, &after).await?,
        }
    }
    Ok(())
}

async fn entry(link: &Link, key: Key, before: &LedgerEntry, after: LedgerEntry) -> Result<(), Failure> {
    let (shard, place) = (link.shards().of_key(key), format!("l{}", ledger::bucket(key)));
    let command = Command::new("HGET", place.clone()).arg(*key.as_bytes());
    let Some(stored) = reply::optional_bytes(link.read(shard, vec![command]).await?.next()?)? else {
        return Ok(());
    };
    let mut entry = Entry::from_bytes(&stored)?;
    if (entry.known.id, entry.known.raw_hash) != (before.id, before.raw_hash) {
        return Ok(());
    }
    entry.known.raw_hash = after.raw_hash;
    entry.known.content_hash = after.content_hash;
    let mut change = Change::default().when(place.clone(), *key.as_bytes(), stored);
    let command = Command::new("HSET", place).arg(*key.as_bytes());
    change.then(command.arg(entry.to_bytes()));
    link.apply(shard, &[change], Room::Needed).await?;
    Ok(())
}

async fn event(link: &Link, before: &StoredEvent, after: &StoredEvent) -> Result<(), Failure> {
    let (shard, key) = (link.shards().of_event(before.id), event_key(before.id));
    let fields = ["h", "v", "b"].map(|field| Command::new("HGET", key.clone()).arg(field));
    let mut snapshot = link.read_and_take(shard, fields.into(), 1).await?;
    let [head, version, body] =
        [snapshot.next()?, snapshot.next()?, snapshot.next()?].map(reply::optional_bytes);
    let (Some(head), Some(body)) = (head?, body?) else {
        return Ok(());
    };
    if unpack_body(body)?.0 != before.headers {
        return Ok(());
    }
    // The version changes too, so that nobody else rewrites it in between.
    let mut change =
        Change::default()
            .when(key.clone(), "h", head)
            .when(key.clone(), "v", version?.unwrap_or_default());
    change.then(
        Command::new("HSET", key)
            .arg("h")
            .arg(packed::pack(&Head::of_stored(after))?)
            .arg("b")
            .arg(pack_body(&after.headers, &after.body))
            .arg("v")
            .number(snapshot.numbers.at(0)),
    );
    link.apply(shard, &[change], Room::Needed).await?;
    Ok(())
}

async fn indexed(
    link: &Link,
    event: EventId,
    before: &IndexedValue,
    after: &IndexedValue,
) -> Result<(), Failure> {
    let (shard, key) = (link.shards().of_event(event), event_key(event));
    let command = Command::new("HGET", key.clone()).arg("i");
    let Some(stored) = reply::optional_bytes(link.read(shard, vec![command]).await?.next()?)? else {
        return Ok(());
    };
    let mut names: Vec<String> = packed::unpack(&stored, "indexed values")?;
    let (old, new) = (index_name(before), index_name(after));
    let Some(name) = names.iter_mut().find(|name| **name == old) else {
        return Ok(());
    };
    name.clone_from(&new);
    let mut change = Change::default().when(key.clone(), "i", stored);
    change.then(Command::new("HSET", key).arg("i").arg(packed::pack(&names)?));
    change.then(Command::new("ZREM", format!("i{old}")).arg(*event.as_bytes()));
    change.then(
        Command::new("ZADD", format!("i{new}"))
            .number(0)
            .arg(*event.as_bytes()),
    );
    link.apply(shard, &[change], Room::Needed).await?;
    Ok(())
}

async fn attempt(
    link: &Link,
    event: EventId,
    before: &AttemptView,
    after: &AttemptView,
) -> Result<(), Failure> {
    let (shard, key) = (link.shards().of_event(event), event_key(event));
    let field = attempt_field(before);
    let command = Command::new("HGET", key.clone()).arg(field.clone());
    let Some(stored) = reply::optional_bytes(link.read(shard, vec![command]).await?.next()?)? else {
        return Ok(());
    };
    if crate::event::attempt(&field[1..], &stored)? != *before {
        return Ok(());
    }
    let mut change = Change::default().when(key.clone(), field.clone(), stored);
    change.then(
        Command::new("HSET", key)
            .arg(field)
            .arg(json::write(&after.attempt)?),
    );
    link.apply(shard, &[change], Room::Needed).await?;
    Ok(())
}

async fn conflict(link: &Link, before: &ConflictingBody, after: &ConflictingBody) -> Result<(), Failure> {
    let (shard, key) = (link.shards().of_event(before.first), event_key(before.first));
    let (field, place) = (
        conflict_field(before.raw_hash),
        contents_key(before.first, before.raw_hash),
    );
    let commands = vec![
        Command::new("HGET", key.clone()).arg(field.clone()),
        Command::new("GET", place.clone()),
    ];
    let mut snapshot = link.read(shard, commands).await?;
    let stored = reply::optional_bytes(snapshot.next()?)?;
    let contents = reply::optional_bytes(snapshot.next()?)?;
    let Some((stored, contents)) = stored.zip(contents) else {
        return Ok(());
    };
    let known: Conflict = packed::unpack(&stored, "a conflict")?;
    if other_body(before.first, before.raw_hash, &known, &contents)?.headers != before.headers {
        return Ok(());
    }
    let mut change =
        Change::default()
            .when(key.clone(), field.clone(), stored)
            .when(place.clone(), "", contents);
    if after.raw_hash != before.raw_hash {
        change = change.when(key.clone(), conflict_field(after.raw_hash), "");
        change.then(Command::new("HDEL", key).arg(field));
        change.then(Command::new("UNLINK", place));
    }
    let body_bytes = after.body.len() as u64;
    add(&mut change, after, &Conflict { body_bytes, ..known })?;
    link.apply(shard, &[change], Room::Needed).await?;
    Ok(())
}

//! Other bodies under a known identity: kept apart, looked at, released. Beside the event, also when that is gone.

use hapax_core::store::{CONFLICTS_MAX, ConflictView, Quarantined, Variant};
use hapax_core::{BodyHash, EventId, Key, Timestamp};
use serde_bytes::ByteBuf;

use crate::event::{Conflict, conflict_field, pack_body, sixteen, unpack_body};
use crate::failure::{Failure, damaged};
use crate::identity::event_key;
use crate::link::Link;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Made, ROUNDS_MAX, Room};
use crate::spread::{by_shard, in_order};
use crate::{packed, reply};

/// Keeps variants, each body once.
pub(crate) async fn quarantine(link: &Link, variants: Vec<Variant>) -> Result<Vec<Quarantined>, Failure> {
    let calls = by_shard(variants, |variant| link.shards().of_event(variant.first));
    in_order(
        calls
            .into_iter()
            .map(|(shard, variants)| keep_some(link, shard, variants)),
    )
    .await
}

async fn keep_some(
    link: &Link,
    shard: Shard,
    variants: Vec<(usize, Variant)>,
) -> Result<Vec<(usize, Quarantined)>, Failure> {
    let mut answers = Vec::with_capacity(variants.len());
    for (place, variant) in variants {
        answers.push((place, keep(link, shard, &variant).await?));
    }
    Ok(answers)
}

async fn keep(link: &Link, shard: Shard, variant: &Variant) -> Result<Quarantined, Failure> {
    for _ in 0..ROUNDS_MAX {
        let event = event_key(variant.first);
        let field = conflict_field(variant.raw_hash);
        let commands = vec![
            Command::new("HGET", event.clone()).arg(field.clone()),
            Command::new("HGET", event.clone()).arg("v"),
            Command::new("HKEYS", event.clone()),
        ];
        let mut snapshot = link.read_and_take(shard, commands, 1).await?;
        let known = reply::optional_bytes(snapshot.next()?)?;
        let version = reply::optional_bytes(snapshot.next()?)?.unwrap_or_default();
        let kept = count(snapshot.next()?)?;
        let (change, answer) = match known {
            Some(known) => (again(event, field, known)?, Quarantined::Again),
            None if kept >= CONFLICTS_MAX => return Ok(Quarantined::Full),
            None => {
                // The event's version changes too: so neither its end nor another variant comes in between.
                let change = Change::default().when(event, "v", version);
                (first(change, variant, snapshot.number)?, Quarantined::Kept)
            }
        };
        let made = link.apply(shard, &[change], Room::Needed).await?;
        if made == [Made::Yes] {
            return Ok(answer);
        }
    }
    Err(Failure::Contended)
}

/// How many of an event's fields are conflicts.
fn count(fields: redis::Value) -> Result<usize, Failure> {
    let mut conflicts = 0;
    for field in reply::list(fields)? {
        conflicts += usize::from(reply::bytes(field)?.first() == Some(&b'c'));
    }
    Ok(conflicts)
}

/// The same body once more.
fn again(event: Vec<u8>, field: Vec<u8>, known: Vec<u8>) -> Result<Change, Failure> {
    let mut conflict: Conflict = packed::unpack(&known, "a conflict")?;
    conflict.seen += 1;
    replaced(event, field, known, &conflict)
}

fn replaced(event: Vec<u8>, field: Vec<u8>, known: Vec<u8>, next: &Conflict) -> Result<Change, Failure> {
    let mut change = Change::default().when(event.clone(), field.clone(), known);
    change.then(Command::new("HSET", event).arg(field).arg(packed::pack(next)?));
    Ok(change)
}

fn first(mut change: Change, variant: &Variant, number: u64) -> Result<Change, Failure> {
    let conflict = Conflict {
        seen: 1,
        received_at: variant.received_at.as_micros(),
        source: variant.source.to_string(),
        body_bytes: variant.body.len() as u64,
        order: number,
        released_as: None,
    };
    add(&mut change, variant, &conflict)?;
    let event = event_key(variant.first);
    change.then(Command::new("HSET", event).arg("v").number(number));
    Ok(change)
}

/// What keeps a variant.
pub(crate) fn add(change: &mut Change, variant: &Variant, conflict: &Conflict) -> Result<(), Failure> {
    let command = Command::new("HSET", event_key(variant.first)).arg(conflict_field(variant.raw_hash));
    change.then(command.arg(packed::pack(conflict)?));
    let body = pack_body(&variant.headers, &variant.body);
    let contents = [&variant.key.as_bytes()[..], &body].concat();
    change.then(Command::new("SET", contents_key(variant.first, variant.raw_hash)).arg(contents));
    Ok(())
}

/// Where a variant's identity, headers and body are.
pub(crate) fn contents_key(first: EventId, raw_hash: BodyHash) -> Vec<u8> {
    [b"C", &first.as_bytes()[..], raw_hash.as_bytes()].concat()
}

/// A variant from its two parts.
pub(crate) fn variant(
    first: EventId,
    raw_hash: BodyHash,
    conflict: &Conflict,
    contents: &[u8],
) -> Result<Variant, Failure> {
    let (key, body) = contents
        .split_at_checked(16)
        .ok_or_else(|| damaged("another body"))?;
    let (headers, body) = unpack_body(body.to_vec())?;
    Ok(Variant {
        key: Key::from_bytes(sixteen(key)?),
        first,
        source: conflict.source.as_str().into(),
        raw_hash,
        received_at: Timestamp::from_micros(conflict.received_at),
        headers,
        body,
    })
}

/// As `get` shows it.
pub(crate) fn view(raw_hash: BodyHash, conflict: &Conflict) -> Result<ConflictView, Failure> {
    let released_as = conflict.released_as.as_ref().map(|id| sixteen(id)).transpose()?;
    Ok(ConflictView {
        raw_hash,
        seen: conflict.seen,
        received_at: Timestamp::from_micros(conflict.received_at),
        body_bytes: conflict.body_bytes,
        released_as: released_as.map(EventId::from_bytes),
    })
}

/// A quarantined body.
pub(crate) async fn conflict(
    link: &Link,
    id: EventId,
    raw_hash: BodyHash,
) -> Result<Option<Variant>, Failure> {
    let commands = vec![
        Command::new("HGET", event_key(id)).arg(conflict_field(raw_hash)),
        Command::new("GET", contents_key(id, raw_hash)),
    ];
    let mut snapshot = link.read(link.shards().of_event(id), commands).await?;
    let known = reply::optional_bytes(snapshot.next()?)?;
    let contents = reply::optional_bytes(snapshot.next()?)?;
    let Some((known, contents)) = known.zip(contents) else {
        return Ok(None);
    };
    let known: Conflict = packed::unpack(&known, "a conflict")?;
    variant(id, raw_hash, &known, &contents).map(Some)
}

/// Notes as which event a body was released.
pub(crate) async fn mark_released(
    link: &Link,
    id: EventId,
    raw_hash: BodyHash,
    event: EventId,
) -> Result<(), Failure> {
    let shard = link.shards().of_event(id);
    let (key, field) = (event_key(id), conflict_field(raw_hash));
    for _ in 0..ROUNDS_MAX {
        let command = Command::new("HGET", key.clone()).arg(field.clone());
        let Some(known) = reply::optional_bytes(link.read(shard, vec![command]).await?.next()?)? else {
            return Ok(());
        };
        let mut conflict: Conflict = packed::unpack(&known, "a conflict")?;
        conflict.released_as = Some(ByteBuf::from(event.as_bytes()));
        let change = replaced(key.clone(), field.clone(), known, &conflict)?;
        if link.apply_one(shard, change).await? == Made::Yes {
            return Ok(());
        }
    }
    Err(Failure::Contended)
}

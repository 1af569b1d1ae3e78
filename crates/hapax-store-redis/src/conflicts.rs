//! Conflicts: other bodies under a known identity, stored apart, read and released. Stored with the event, even when
//! the event itself is gone.

use std::collections::HashMap;

use futures_util::future::join_all;
use hapax_core::store::{CONFLICTS_MAX, ConflictRecorded, ConflictView, ConflictingBody, Error};
use hapax_core::{BodyHash, EventId, Key, Timestamp};
use redis::Value;
use serde_bytes::ByteBuf;

use crate::accept::shared;
use crate::event::{Conflict, conflict_field, pack_body, sixteen, unpack_body};
use crate::failure::{Failure, damaged};
use crate::identity::event_key;
use crate::link::Link;
use crate::shards::Shard;
use crate::snapshot::{Change, Command, Made, Numbers, ROUNDS_MAX, Room};
use crate::spread::by_shard;
use crate::{Options, packed, reply};

/// Conflicts of one event that are read with one command: a script's stack is small.
const GROUP_MAX: usize = 1_000;

/// Conflicts of one event, each with its place in the call.
struct Group {
    event: EventId,
    other_bodies: Vec<(usize, ConflictingBody)>,
}

/// What to do with the conflicts of one event, if no other process is faster.
struct Plan {
    change: Change,
    answers: Vec<ConflictRecorded>,
}

/// Stores conflicts, each body once. Returns one answer per conflict, in order.
pub(crate) async fn record_conflicts(
    link: &Link,
    options: &Options,
    other_bodies: Vec<ConflictingBody>,
) -> Vec<Result<ConflictRecorded, Error>> {
    let mut answers: Vec<Option<Result<ConflictRecorded, Error>>> = other_bodies
        .iter()
        .map(|other_body| other_body.check().err().map(Err))
        .collect();
    let sound = other_bodies.into_iter().enumerate();
    let sound = sound.filter(|(place, _)| answers[*place].is_none()).collect();
    let calls = by_shard(sound, |(_, other_body): &(usize, ConflictingBody)| {
        link.shards().of_event(other_body.first)
    });
    let calls = calls.into_iter().map(|(shard, other_bodies)| {
        let other_bodies = other_bodies.into_iter().map(|(_, placed)| placed);
        keep_all(link, options, shard, by_event(other_bodies))
    });
    for (place, answer) in join_all(calls).await.into_iter().flatten() {
        answers[place] = Some(answer);
    }
    let unanswered = || Err(damaged("the answer to a conflict").into_error());
    let answers = answers.into_iter();
    answers.map(|answer| answer.unwrap_or_else(unanswered)).collect()
}

fn by_event(other_bodies: impl Iterator<Item = (usize, ConflictingBody)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<EventId, usize> = HashMap::new();
    for (place, other_body) in other_bodies {
        let event = other_body.first;
        let known = places.get(&event).and_then(|at| groups.get_mut(*at));
        if let Some(group) = known.filter(|group| group.other_bodies.len() < GROUP_MAX) {
            group.other_bodies.push((place, other_body));
            continue;
        }
        // A further group of the same event loses the race against the one before it, and is tried again.
        places.insert(event, groups.len());
        groups.push(Group {
            event,
            other_bodies: vec![(place, other_body)],
        });
    }
    groups
}

/// Stores the conflicts of one shard: two calls for all of them, and again for those where another process was faster.
async fn keep_all(
    link: &Link,
    options: &Options,
    shard: Shard,
    mut groups: Vec<Group>,
) -> Vec<(usize, Result<ConflictRecorded, Error>)> {
    let mut answers = Vec::new();
    let mut failure = Failure::Contended;
    for _ in 0..ROUNDS_MAX {
        if groups.is_empty() {
            break;
        }
        match keep_once(link, options, shard, &mut groups).await {
            Ok(kept) => answers.extend(kept),
            Err(failed) => {
                failure = failed;
                break;
            }
        }
    }
    let left = groups.iter().flat_map(|group| &group.other_bodies);
    answers.extend(left.map(|(place, _)| (*place, Err(shared(&failure)))));
    answers
}

/// Reads, decides and writes. Groups where another process was faster remain.
async fn keep_once(
    link: &Link,
    options: &Options,
    shard: Shard,
    groups: &mut Vec<Group>,
) -> Result<Vec<(usize, Result<ConflictRecorded, Error>)>, Failure> {
    let taken = groups.iter().map(|group| group.other_bodies.len()).sum();
    let commands = groups.iter().flat_map(Group::look).collect();
    let mut snapshot = link.read_and_take(shard, commands, taken).await?;
    let mut plans = Vec::with_capacity(groups.len());
    let mut numbers = snapshot.numbers;
    for group in groups.iter() {
        let (fields, known) = (snapshot.next()?, snapshot.next()?);
        plans.push(group.plan(count(fields)?, reply::list(known)?, numbers)?);
        numbers = numbers.after(group.other_bodies.len());
    }
    let wait = |other_body: &ConflictingBody| options.wait.get(&other_body.source).copied().unwrap_or(0);
    let sources = groups.iter().flat_map(|group| &group.other_bodies);
    let asked = sources.map(|(_, other_body)| wait(other_body)).max().unwrap_or(0);
    let (made, have) = {
        let changes = plans.iter().map(|plan| &plan.change);
        let changes: Vec<&Change> = changes.filter(|change| !change.is_empty()).collect();
        link.apply_and_wait(shard, &changes, Room::Needed, asked).await?
    };
    let mut made = made.into_iter();
    let mut answers = Vec::new();
    let mut overtaken = Vec::new();
    for (group, plan) in std::mem::take(groups).into_iter().zip(plans) {
        if !plan.change.is_empty() && made.next() != Some(Made::Yes) {
            overtaken.push(group);
            continue;
        }
        for ((place, other_body), answer) in group.other_bodies.into_iter().zip(plan.answers) {
            let asked = wait(&other_body);
            // If a conflict is not stored, no replica needs to have it.
            let is_safe = answer == ConflictRecorded::Full || have >= asked;
            let few = || Failure::FewReplicas { asked, have }.into_error();
            answers.push((place, is_safe.then_some(answer).ok_or_else(few)));
        }
    }
    *groups = overtaken;
    Ok(answers)
}

impl Group {
    /// Reads the names of the event's fields, its version, and what is stored of these bodies.
    fn look(&self) -> [Command; 2] {
        let event = event_key(self.event);
        let known = Command::new("HMGET", event.clone()).arg("v");
        let known = self.other_bodies.iter().fold(known, |command, (_, other_body)| {
            command.arg(conflict_field(other_body.raw_hash))
        });
        [Command::new("HKEYS", event), known]
    }

    /// Decides on each conflict in turn. `number` is the first of as many numbers as there are conflicts.
    fn plan(&self, mut kept: usize, known: Vec<Value>, numbers: Numbers) -> Result<Plan, Failure> {
        let mut known = known.into_iter().map(reply::optional_bytes);
        let version = known.next().transpose()?.flatten().unwrap_or_default();
        // For each body: the stored value, the new value, and the conflict that brings it.
        let mut bodies: HashMap<BodyHash, (Option<Vec<u8>>, Conflict, &ConflictingBody)> = HashMap::new();
        let mut answers = Vec::with_capacity(self.other_bodies.len());
        for (place, ((_, other_body), stored)) in self.other_bodies.iter().zip(known).enumerate() {
            let stored = stored?;
            if let Some((_, conflict, _)) = bodies.get_mut(&other_body.raw_hash) {
                conflict.seen += 1;
                answers.push(ConflictRecorded::Again);
            } else if let Some(stored) = stored {
                let mut conflict: Conflict = packed::unpack(&stored, "a conflict")?;
                conflict.seen += 1;
                bodies.insert(other_body.raw_hash, (Some(stored), conflict, other_body));
                answers.push(ConflictRecorded::Again);
            } else if kept >= CONFLICTS_MAX {
                answers.push(ConflictRecorded::Full);
            } else {
                kept += 1;
                bodies.insert(
                    other_body.raw_hash,
                    (None, first(other_body, numbers.at(place)), other_body),
                );
                answers.push(ConflictRecorded::Kept);
            }
        }
        let event = event_key(self.event);
        let mut change = Change::default();
        for (raw_hash, (stored, conflict, other_body)) in bodies {
            match stored {
                Some(stored) => replace(&mut change, self.event, raw_hash, stored, &conflict)?,
                None => add(&mut change, other_body, &conflict)?,
            }
        }
        if answers.contains(&ConflictRecorded::Kept) {
            // The event's version changes too, so that neither its deletion nor another conflict can come in between.
            change = change.when(event.clone(), "v", version);
            change.then(Command::new("HSET", event).arg("v").number(numbers.at(0)));
        }
        Ok(Plan { change, answers })
    }
}

/// The number of conflicts among an event's fields.
fn count(fields: Value) -> Result<usize, Failure> {
    let mut conflicts = 0;
    for field in reply::list(fields)? {
        conflicts += usize::from(reply::bytes(field)?.first() == Some(&b'c'));
    }
    Ok(conflicts)
}

/// Replaces the record of a stored body, if it is unchanged.
fn replace(
    change: &mut Change,
    first: EventId,
    raw_hash: BodyHash,
    known: Vec<u8>,
    next: &Conflict,
) -> Result<(), Failure> {
    let (event, field) = (event_key(first), conflict_field(raw_hash));
    *change = std::mem::take(change).when(event.clone(), field.clone(), known);
    change.then(Command::new("HSET", event).arg(field).arg(packed::pack(next)?));
    Ok(())
}

/// The record of a new body.
fn first(other_body: &ConflictingBody, number: u64) -> Conflict {
    Conflict {
        seen: 1,
        received_at: other_body.received_at.as_micros(),
        source: other_body.source.to_string(),
        body_bytes: other_body.body.len() as u64,
        order: number,
        released_as: None,
    }
}

/// Stores a conflict.
pub(crate) fn add(
    change: &mut Change,
    other_body: &ConflictingBody,
    conflict: &Conflict,
) -> Result<(), Failure> {
    let command = Command::new("HSET", event_key(other_body.first)).arg(conflict_field(other_body.raw_hash));
    change.then(command.arg(packed::pack(conflict)?));
    let body = pack_body(&other_body.headers, &other_body.body);
    let contents = [&other_body.key.as_bytes()[..], &body].concat();
    change.then(Command::new("SET", contents_key(other_body.first, other_body.raw_hash)).arg(contents));
    Ok(())
}

/// The key of a conflict's identity, headers and body.
pub(crate) fn contents_key(first: EventId, raw_hash: BodyHash) -> Vec<u8> {
    [b"C", &first.as_bytes()[..], raw_hash.as_bytes()].concat()
}

/// A conflict from its two parts.
pub(crate) fn other_body(
    first: EventId,
    raw_hash: BodyHash,
    conflict: &Conflict,
    contents: &[u8],
) -> Result<ConflictingBody, Failure> {
    let (key, body) = contents
        .split_at_checked(16)
        .ok_or_else(|| damaged("another body"))?;
    let (headers, body) = unpack_body(body.to_vec())?;
    Ok(ConflictingBody {
        key: Key::from_bytes(sixteen(key)?),
        first,
        source: conflict.source.as_str().into(),
        raw_hash,
        received_at: Timestamp::from_micros(conflict.received_at),
        headers,
        body,
    })
}

/// The form that `get` shows.
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

/// A conflicting body.
pub(crate) async fn conflict(
    link: &Link,
    id: EventId,
    raw_hash: BodyHash,
) -> Result<Option<ConflictingBody>, Failure> {
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
    other_body(id, raw_hash, &known, &contents).map(Some)
}

/// Records the event as which a body was released.
pub(crate) async fn mark_released(
    link: &Link,
    id: EventId,
    raw_hash: BodyHash,
    event: EventId,
) -> Result<(), Failure> {
    let shard = link.shards().of_event(id);
    for _ in 0..ROUNDS_MAX {
        let command = Command::new("HGET", event_key(id)).arg(conflict_field(raw_hash));
        let Some(known) = reply::optional_bytes(link.read(shard, vec![command]).await?.next()?)? else {
            return Ok(());
        };
        let mut conflict: Conflict = packed::unpack(&known, "a conflict")?;
        conflict.released_as = Some(ByteBuf::from(event.as_bytes()));
        let mut change = Change::default();
        replace(&mut change, id, raw_hash, known, &conflict)?;
        if link.apply_one(shard, change).await? == Made::Yes {
            return Ok(());
        }
    }
    Err(Failure::Contended)
}

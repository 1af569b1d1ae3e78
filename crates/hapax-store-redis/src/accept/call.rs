//! The calls of an accept: the arguments of the script for each event, and its answers.

use hapax_core::store::IndexedValue;
use hapax_core::{EventId, Generation, NewDelivery, OnDead};
use redis::Value;
use serde::Serialize;
use tokio::time::Instant;

use super::Candidate;
use super::habit::Habit;
use crate::event::{Head, pack_body};
use crate::failure::{Failure, damaged};
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::script::{ACCEPT, SEEN, Script};
use crate::shards::Shard;
use crate::{Options, packed, reply};

/// Arguments for each event; `scripts/accept.lua` names them.
const ARGUMENTS: usize = 11;

/// The script's answer for one event.
pub(super) enum Claimed {
    Seen(Box<Entry>),
    /// The generation, and for each delivery its token and the end of its lease.
    New(Generation, Vec<(u64, u64)>),
    /// Its id belongs to another event.
    Refused,
    /// It is stored, new or not, on fewer replicas than its source waits for.
    OnFew {
        asked: u8,
        have: u8,
        claimed: Box<Claimed>,
    },
}

impl Claimed {
    /// The id under which the identity's event is stored, if it is: `own` if this event is the first.
    pub(super) fn stored_as(&self, own: EventId) -> Option<EventId> {
        match self {
            Self::Seen(entry) => Some(entry.known.id),
            Self::New(..) => Some(own),
            Self::Refused => None,
            Self::OnFew { claimed, .. } => claimed.stored_as(own),
        }
    }
}

/// Claims events of one shard. If most are duplicates, it checks for them first: a duplicate's payload need not travel.
pub(super) async fn call(
    link: &Link,
    options: &Options,
    habit: &Habit,
    shard: Shard,
    events: &[&Candidate],
) -> Result<Vec<Claimed>, Failure> {
    let claims = if habit.expects_duplicates() {
        look_and_store(link, options, shard, events).await?
    } else {
        store(link, options, shard, events, link.deadline()).await?
    };
    let duplicates = claims
        .iter()
        .filter(|claimed| matches!(claimed, Claimed::Seen(_)));
    habit.learn(duplicates.count(), claims.len());
    Ok(claims)
}

async fn look_and_store(
    link: &Link,
    options: &Options,
    shard: Shard,
    events: &[&Candidate],
) -> Result<Vec<Claimed>, Failure> {
    let mut args = vec![link.floor()];
    args.extend(events.iter().map(|new| new.event.key.as_bytes().to_vec()));
    let deadline = link.deadline();
    let found = ask(link, options, &SEEN, shard, events, &args, deadline).await?;
    let is_new = |claimed: &Claimed| matches!(claimed, Claimed::Refused);
    let pairs = events.iter().zip(&found);
    let new: Vec<&Candidate> = pairs
        .filter(|(_, claimed)| is_new(claimed))
        .map(|(event, _)| *event)
        .collect();
    if new.is_empty() {
        return Ok(found);
    }
    let mut stored = store(link, options, shard, &new, deadline).await?.into_iter();
    let claims = found.into_iter().map(|claimed| match claimed {
        Claimed::Refused => stored.next().unwrap_or(Claimed::Refused),
        other => other,
    });
    Ok(claims.collect())
}

async fn store(
    link: &Link,
    options: &Options,
    shard: Shard,
    events: &[&Candidate],
    deadline: Instant,
) -> Result<Vec<Claimed>, Failure> {
    let mut args = Vec::with_capacity(1 + events.len() * ARGUMENTS);
    args.push(link.floor());
    for candidate in events {
        add(&mut args, candidate)?;
    }
    ask(link, options, &ACCEPT, shard, events, &args, deadline).await
}

/// Runs a script for events, and waits for the number of replicas that their sources require.
async fn ask(
    link: &Link,
    options: &Options,
    script: &Script,
    shard: Shard,
    events: &[&Candidate],
    args: &[Vec<u8>],
    deadline: Instant,
) -> Result<Vec<Claimed>, Failure> {
    let wait = |new: &Candidate| options.wait.get(&new.event.source).copied().unwrap_or(0);
    let replicas = events.iter().map(|event| wait(event)).max().unwrap_or(0);
    let waited = link
        .call_and_wait(shard, script, args, replicas, deadline)
        .await?;
    let answers = reply::list(waited.value)?;
    if answers.len() != events.len() {
        return Err(damaged("the answer to an accept"));
    }
    let mut claims = Vec::with_capacity(events.len());
    for (answer, event) in answers.into_iter().zip(events) {
        let claimed = read(answer)?;
        if let Claimed::New(_, tokens) = &claimed {
            for (token, _) in tokens {
                link.seen(*token);
            }
        }
        let (asked, have) = (wait(event), waited.replicas);
        let is_known = !matches!(claimed, Claimed::Refused);
        claims.push(if is_known && have < asked {
            Claimed::OnFew {
                asked,
                have,
                claimed: Box::new(claimed),
            }
        } else {
            claimed
        });
    }
    Ok(claims)
}

fn add(args: &mut Vec<Vec<u8>>, candidate: &Candidate) -> Result<(), Failure> {
    let event = &candidate.event;
    let same_body = candidate.same_body_as.map(|id| id.as_bytes().to_vec());
    let deliveries: Vec<Delivery<'_>> = event.deliveries.iter().map(Delivery::of).collect();
    let indexed: Vec<String> = event.indexed.iter().map(index_name).collect();
    args.extend([
        event.key.as_bytes().to_vec(),
        event.id.as_bytes().to_vec(),
        event.raw_hash.as_bytes().to_vec(),
        ledger::time(event.ledger_until).to_vec(),
        ledger::content(event.content_hash.as_ref()),
        event.identity.scope.as_str().into(),
        packed::pack(&Head::of_new(event))?,
        pack_body(&event.headers, &event.body),
        packed_unless_empty(&deliveries)?,
        packed_unless_empty(&indexed)?,
        same_body.unwrap_or_default(),
    ]);
    Ok(())
}

/// The name under which indexes store a value, for all sources together: a search may name no source.
pub(crate) fn index_name(value: &IndexedValue) -> String {
    format!("{} {:016x}", value.pointer, value.digest)
}

/// A delivery, as the script reads it.
#[derive(Serialize)]
struct Delivery<'a> {
    to: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skip: Option<bool>,
    /// The duration of the lease that comes with the accept, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<u64>,
    /// The owner of that lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
}

impl<'a> Delivery<'a> {
    fn of(new: &'a NewDelivery) -> Self {
        let lane = new.lane.as_ref();
        Self {
            to: new.destination.as_str(),
            lane: lane.map(|lane| lane.key.as_str()),
            skip: lane.filter(|lane| lane.on_dead == OnDead::Skip).map(|_| true),
            lease: new.first_lease.map(|terms| crate::micros(terms.lease_for)),
            owner: new.first_lease.map(|terms| crate::alive::name(terms.owner)),
        }
    }
}

fn packed_unless_empty<T: Serialize>(items: &[T]) -> Result<Vec<u8>, Failure> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    packed::pack(&items)
}

fn read(value: Value) -> Result<Claimed, Failure> {
    match value {
        Value::Nil => Ok(Claimed::Refused),
        Value::BulkString(entry) => Entry::from_bytes(&entry).map(|entry| Claimed::Seen(Box::new(entry))),
        other => {
            let mut numbers = reply::list(other)?.into_iter().map(reply::number);
            let generation = numbers.next().ok_or_else(|| damaged("a claim"))??;
            let numbers: Vec<u64> = numbers.collect::<Result<_, _>>()?;
            let tokens = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            Ok(Claimed::New(Generation(generation as u32), tokens))
        }
    }
}

//! Accept: for each shard one call, which claims, stores and enqueues.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::store::{AcceptRequest, Claim, Error, Handed, IndexedValue, LedgerEntry};
use hapax_core::{EventId, Generation, NewDelivery, NewEvent, OnDead, Timestamp, Token};
use redis::Value;
use serde::Serialize;

use crate::event::{Head, pack_body};
use crate::failure::{Failure, damaged};
use crate::lanes::{self, Step};
use crate::ledger::{self, Entry};
use crate::link::Link;
use crate::script::ACCEPT;
use crate::shards::Shard;
use crate::{Options, packed, reply};

/// Arguments for each event; `scripts/accept.lua` names them.
const ARGUMENTS: usize = 10;

/// An event's place: which request, and which of its events.
type Seat = (usize, usize);

/// The answer to one event, unless its shard failed.
type Answer = Result<Claim, Error>;

pub(crate) async fn accept(
    link: &Arc<Link>,
    options: &Options,
    requests: Vec<AcceptRequest>,
) -> Vec<Result<Vec<Claim>, Error>> {
    let mut answers: Vec<Vec<Option<Answer>>> = requests
        .iter()
        .map(|request| request.events.iter().map(|_| None).collect())
        .collect();
    let mut by_shard: BTreeMap<Shard, Vec<(Seat, NewEvent)>> = BTreeMap::new();
    for (place, request) in requests.into_iter().enumerate() {
        for (number, event) in request.events.into_iter().enumerate() {
            if event.id.bucket() == event.key.bucket() {
                let shard = link.shards().of_key(event.key);
                by_shard.entry(shard).or_default().push(((place, number), event));
            } else {
                answers[place][number] = Some(Err(another_events(event.id)));
            }
        }
    }
    let calls = by_shard
        .into_iter()
        .map(|(shard, events)| claim(link, options, shard, events));
    let claims = futures_util::future::join_all(calls).await;
    let mut claims: Vec<(Seat, Outcome)> = claims.into_iter().flatten().collect();
    // Lanes keep the order of requests, and of events in a request.
    claims.sort_by_key(|(seat, _)| *seat);
    for (seat, outcome) in claims {
        answers[seat.0][seat.1] = Some(settle(link, outcome).await);
    }
    answers.into_iter().map(whole).collect()
}

/// A request's answer: all of its claims, or what went wrong first.
fn whole(claims: Vec<Option<Answer>>) -> Result<Vec<Claim>, Error> {
    let unanswered = || Err(damaged("the answer to an accept").into_error());
    claims
        .into_iter()
        .map(|claim| claim.unwrap_or_else(unanswered))
        .collect()
}

/// What became of an event in its shard.
enum Outcome {
    Claimed(Box<NewEvent>, Claimed),
    Failed(Arc<Failure>),
}

/// Claims the events of one shard.
async fn claim(
    link: &Link,
    options: &Options,
    shard: Shard,
    events: Vec<(Seat, NewEvent)>,
) -> Vec<(Seat, Outcome)> {
    match call(link, options, shard, &events).await {
        Ok(claims) => {
            let pairs = events.into_iter().zip(claims);
            pairs
                .map(|((seat, event), claimed)| (seat, Outcome::Claimed(Box::new(event), claimed)))
                .collect()
        }
        Err(failure) => {
            let failure = Arc::new(failure);
            let seats = events.into_iter().map(|(seat, _)| seat);
            seats
                .map(|seat| (seat, Outcome::Failed(Arc::clone(&failure))))
                .collect()
        }
    }
}

/// What the script said of one event.
enum Claimed {
    Seen(Box<Entry>),
    /// The generation, and for each delivery its token and the end of its lease.
    New(Generation, Vec<(u64, u64)>),
    /// Its id is another event's.
    Refused,
    /// It is stored, new or not, on fewer replicas than its source waits for.
    OnFew {
        asked: u8,
        have: u8,
    },
}

async fn call(
    link: &Link,
    options: &Options,
    shard: Shard,
    events: &[(Seat, NewEvent)],
) -> Result<Vec<Claimed>, Failure> {
    let mut args = Vec::with_capacity(1 + events.len() * ARGUMENTS);
    args.push(link.floor());
    for (_, event) in events {
        add(&mut args, event)?;
    }
    let wait = |event: &NewEvent| options.wait.get(&event.source).copied().unwrap_or(0);
    let replicas = events.iter().map(|(_, event)| wait(event)).max().unwrap_or(0);
    let waited = link.call_and_wait(shard, &ACCEPT, &args, replicas).await?;
    let claims: Vec<Claimed> = reply::list(waited.value)?
        .into_iter()
        .map(read)
        .collect::<Result<_, _>>()?;
    if claims.len() != events.len() {
        return Err(damaged("the answer to an accept"));
    }
    for claimed in &claims {
        if let Claimed::New(_, tokens) = claimed {
            for (token, _) in tokens {
                link.seen(*token);
            }
        }
    }
    let on_enough = claims.into_iter().zip(events).map(|(claimed, (_, event))| {
        let asked = wait(event);
        let have = waited.replicas;
        if have < asked {
            Claimed::OnFew { asked, have }
        } else {
            claimed
        }
    });
    Ok(on_enough.collect())
}

fn add(args: &mut Vec<Vec<u8>>, event: &NewEvent) -> Result<(), Failure> {
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
    ]);
    Ok(())
}

/// Under which name indexes keep a value, those of all sources together: a search may name none.
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
    /// For how long it is handed over, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<u64>,
}

impl<'a> Delivery<'a> {
    fn of(new: &'a NewDelivery) -> Self {
        let lane = new.lane.as_ref();
        Self {
            to: new.destination.as_str(),
            lane: lane.map(|lane| lane.key.as_str()),
            skip: lane.filter(|lane| lane.on_dead == OnDead::Skip).map(|_| true),
            lease: new.hand_over.map(|terms| crate::micros(terms.lease_for)),
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

/// The claim; its deliveries join their lanes first.
async fn settle(link: &Link, outcome: Outcome) -> Answer {
    let (event, claimed) = match outcome {
        Outcome::Claimed(event, claimed) => (event, claimed),
        Outcome::Failed(failure) => return Err(shared(&failure)),
    };
    let (generation, tokens) = match claimed {
        Claimed::Seen(entry) => return seen(link, &event, entry.known).await,
        Claimed::Refused => return Err(another_events(event.id)),
        Claimed::OnFew { asked, have } => return Err(Failure::FewReplicas { asked, have }.into_error()),
        Claimed::New(generation, tokens) => (generation, tokens),
    };
    for (delivery, (ticket, _)) in event.deliveries.iter().zip(&tokens) {
        if let Some(lane) = &delivery.lane {
            let step = Step::join(event.id, &delivery.destination, &lane.key, *ticket);
            lanes::take(link, &step).await.map_err(Failure::into_error)?;
        }
    }
    let handed = |(token, lease_until): &(u64, u64)| {
        (*lease_until > 0).then(|| Handed {
            token: Token(*token),
            lease_until: Timestamp::from_micros(*lease_until as i64),
        })
    };
    Ok(Claim::New {
        generation,
        tokens: tokens.iter().map(handed).collect(),
    })
}

/// A copy is answered once the first has its place in every lane, so that what comes after the answer comes behind it.
async fn seen(link: &Link, event: &NewEvent, entry: LedgerEntry) -> Answer {
    if event.deliveries.iter().any(|delivery| delivery.lane.is_some()) {
        lanes::join_all(link, entry.id)
            .await
            .map_err(Failure::into_error)?;
    }
    Ok(Claim::Seen(entry))
}

fn another_events(id: EventId) -> Error {
    Error::Rejected {
        message: format!("the id {id} belongs to another event"),
    }
}

/// One failure, told to everybody whom it hit.
fn shared(failure: &Failure) -> Error {
    match failure {
        Failure::TooMany => Error::Overloaded,
        Failure::Damaged(message) => Error::Damaged {
            message: message.clone(),
            source: None,
        },
        other => Error::Unavailable {
            message: other.to_string(),
            source: None,
        },
    }
}

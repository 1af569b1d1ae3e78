//! Lease: the longest due first, across all shards.

use std::sync::Arc;

use futures_util::future::join_all;
use hapax_core::store::{Candidates, LeaseBatch, LeaseOrder};
use hapax_core::{DestinationId, EventId, Leased, Timestamp};
use redis::Value;

use crate::event::{Head, sixteen};
use crate::failure::{Failure, damaged};
use crate::link::Link;
use crate::script::LEASE;
use crate::shards::Shard;
use crate::snapshot::{Command, ROUNDS_MAX};
use crate::work::Work;
use crate::{alive, micros, packed, reply};

pub(crate) async fn lease(link: &Arc<Link>, order: LeaseOrder) -> Result<LeaseBatch, Failure> {
    for _ in 0..ROUNDS_MAX {
        let chosen = choose(link, &order).await?;
        let batch = take(link, &order, &chosen).await?;
        // Other processes may have been faster in all chosen shards, and there may be more.
        if !batch.leased.is_empty() || chosen.shards.is_empty() || link.shards().count() == 1 {
            return Ok(batch);
        }
    }
    Ok(LeaseBatch::default())
}

async fn take(link: &Link, order: &LeaseOrder, chosen: &Chosen) -> Result<LeaseBatch, Failure> {
    let mut leased = Vec::new();
    let mut next_due = chosen.next_due;
    let calls = chosen
        .shards
        .iter()
        .map(|(shard, limit)| lease_some(link, *shard, order, *limit));
    // Leases from one shard are not dropped because another failed: nobody would run them until they expire.
    for part in some_of(join_all(calls).await)? {
        leased.extend(part.leased);
        next_due = earlier(next_due, part.next_due);
    }
    leased.sort_by_key(|(due, leased)| (*due, leased.event.id));
    Ok(LeaseBatch {
        leased: leased.into_iter().map(|(_, leased)| leased).collect(),
        next_due,
    })
}

/// The leases from one shard.
struct Part {
    /// Deliveries, and since when they were due.
    leased: Vec<(Timestamp, Leased)>,
    next_due: Option<Timestamp>,
}

/// How many to take from which shards, and when something is due in one of the others.
struct Chosen {
    shards: Vec<(Shard, u32)>,
    next_due: Option<Timestamp>,
}

/// A single shard is asked directly; several are peeked at first.
async fn choose(link: &Arc<Link>, order: &LeaseOrder) -> Result<Chosen, Failure> {
    let shards: Vec<Shard> = link.shards().all().collect();
    if let [only] = shards[..] {
        return Ok(Chosen {
            shards: vec![(only, order.limit)],
            next_due: None,
        });
    }
    let limit = order.limit;
    let looks = shards.into_iter().map(|shard| look(link, shard, order));
    // Deliveries of the other shards continue while one has no master.
    let looks = some_of(join_all(looks).await)?;
    let now = looks.iter().map(|look| look.now).max().unwrap_or_default();
    let mut due: Vec<(Timestamp, Shard)> = looks
        .into_iter()
        .flat_map(|look| look.due.into_iter().map(move |at| (at, look.shard)))
        .collect();
    due.sort_unstable();
    let taken = due
        .iter()
        .take_while(|(at, _)| *at <= now)
        .count()
        .min(limit as usize);
    let next_due = due.get(taken).map(|(at, _)| *at);
    due.truncate(taken);
    let mut chosen: Vec<(Shard, u32)> = Vec::new();
    for (_, shard) in due {
        match chosen.iter_mut().find(|(known, _)| *known == shard) {
            Some((_, count)) => *count += 1,
            None => chosen.push((shard, 1)),
        }
    }
    Ok(Chosen {
        shards: chosen,
        next_due,
    })
}

struct Look {
    shard: Shard,
    now: Timestamp,
    /// When the next ones are due; one more than may be taken.
    due: Vec<Timestamp>,
}

async fn look(link: &Link, shard: Shard, order: &LeaseOrder) -> Result<Look, Failure> {
    let to = order.destination.as_str();
    let queue = format!("{}{to}", queue(order.candidates));
    let commands = vec![
        Command::new("HEXISTS", "p").arg(to),
        Command::new("ZRANGE", queue)
            .number(0)
            .number(order.limit)
            .arg("WITHSCORES"),
    ];
    let mut snapshot = link.read(shard, commands).await?;
    let is_paused = reply::number(snapshot.next()?)? == 1;
    let scores = reply::list(snapshot.next()?)?.into_iter().skip(1).step_by(2);
    let scores = scores.filter(|_| !is_paused);
    Ok(Look {
        shard,
        now: snapshot.now,
        due: scores.map(time).collect::<Result<_, _>>()?,
    })
}

/// The answers of the shards that responded; a failure if none did.
fn some_of<T>(answers: Vec<Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let mut failed = None;
    let mut some = Vec::with_capacity(answers.len());
    for answer in answers {
        match answer {
            Ok(answer) => some.push(answer),
            Err(failure) => failed = Some(failure),
        }
    }
    match failed {
        Some(failure) if some.is_empty() => Err(failure),
        Some(_) | None => Ok(some),
    }
}

async fn lease_some(link: &Link, shard: Shard, order: &LeaseOrder, limit: u32) -> Result<Part, Failure> {
    let args = [
        link.floor(),
        order.destination.as_str().into(),
        queue(order.candidates).into(),
        limit.to_string().into(),
        micros(order.lease_for).to_string().into(),
        alive::name(order.owner).into(),
    ];
    let mut answer = reply::list(link.call(shard, &LEASE, &args).await?)?.into_iter();
    let next_due = match answer.next() {
        None | Some(Value::Nil) => None,
        Some(score) => Some(time(score)?),
    };
    let leased: Vec<(Timestamp, Leased)> = answer
        .map(|value| read(value, &order.destination))
        .collect::<Result<_, _>>()?;
    if let Some((_, last)) = leased.last() {
        link.seen(last.token.0);
    }
    Ok(Part { leased, next_due })
}

fn read(value: Value, to: &DestinationId) -> Result<(Timestamp, Leased), Failure> {
    let [due, id, work, head, body] = reply::exactly(value)?;
    let id = EventId::from_bytes(sixteen(&reply::bytes(id)?)?);
    let work: Work = packed::unpack(&reply::bytes(work)?, "work")?;
    let head: Head = packed::unpack(&reply::bytes(head)?, "the head of an event")?;
    let idempotency_key = head.identity().idempotency_key(work.generation(), to);
    let lease_until = work.lease.ok_or_else(|| damaged("a lease"))?;
    let leased = Leased {
        event: head.event(id, reply::bytes(body)?)?,
        destination: to.clone(),
        token: work.token(),
        lease_until: Timestamp::from_micros(lease_until),
        generation: work.generation(),
        idempotency_key,
        attempt: work.attempts,
        lost: work.lost,
        lane: work.stay.lane(),
    };
    Ok((time(due)?, leased))
}

const fn queue(candidates: Candidates) -> &'static str {
    match candidates {
        Candidates::Fresh => "q",
        Candidates::Suspect => "s",
    }
}

fn time(score: Value) -> Result<Timestamp, Failure> {
    Ok(Timestamp::from_micros(reply::number(score)? as i64))
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    [one, other].into_iter().flatten().min()
}

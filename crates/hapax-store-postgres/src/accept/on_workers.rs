//! Accepting on a distributed database: each worker writes the events of its own shards, in a transaction of its own. The
//! coordinator gives the time and the numbers for all of them, and writes what does not fit.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{join, join_all};
use hapax_core::store::{AcceptRequest, Claim, Error};
use hapax_core::{Key, NewEvent};

use super::at_once::is_plain;
use super::in_shards::{self, Claims, Group, Item};
use super::{accept as through_coordinator, check};
use crate::failure::{Failure, Remedy};
use crate::parts::PART_BYTES_MAX;
use crate::rows::key_bucket;
use crate::step::Runner;
use crate::workers::{Shards, Workers};

type Answer = Result<Vec<Claim>, Error>;

/// Requests with their places in the batch.
type Placed = Vec<(usize, AcceptRequest)>;

/// Accepts requests. Returns one answer per request, in order.
pub(crate) async fn accept(
    runner: &Runner,
    workers: &Arc<Workers>,
    requests: Vec<AcceptRequest>,
) -> Vec<Answer> {
    let Some(shards) = workers.shards() else {
        return through_coordinator(runner, requests).await;
    };
    let asked = requests.len();
    let (direct, others) = split(&shards, requests);
    let (groups, mut others) = match number(runner, &shards, direct).await {
        Ok(groups) => (groups, others),
        // The coordinator then says why.
        Err(direct) => (Vec::new(), merged(direct, others)),
    };
    let mut answers: Vec<Option<Answer>> = (0..asked).map(|_| None).collect();
    let written = groups.into_iter().map(|group| write(&shards, group));
    let (outcomes, answered) = join(
        join_all(written),
        answer_through_coordinator(runner, std::mem::take(&mut others)),
    )
    .await;
    for (at, answer) in answered {
        answers[at] = Some(answer);
    }
    let mut open = Vec::new();
    for (group, outcome) in outcomes {
        match outcome {
            Ok(Some(claims)) => open.push((group, claims)),
            Err(failure) if failure.is_too_slow() => {
                for item in group.items {
                    answers[item.at] = Some(Err(failure.to_error()));
                }
            }
            Ok(None) => {
                workers.distrust(&shards);
                others.extend(group.items.into_iter().map(|item| (item.at, item.request)));
            }
            Err(failure) => {
                tracing::debug!(%failure, "events are written through the coordinator");
                if failure.remedy() != Remedy::Bisect {
                    workers.distrust(&shards);
                }
                others.extend(group.items.into_iter().map(|item| (item.at, item.request)));
            }
        }
    }
    others.sort_unstable_by_key(|(at, _)| *at);
    for (at, answer) in answer_through_coordinator(runner, others).await {
        answers[at] = Some(answer);
    }
    for (group, claims) in open {
        for (at, answer) in complete(runner, group, claims).await {
            answers[at] = Some(answer);
        }
    }
    let missing = || Err(Failure::Moved.to_error());
    answers
        .into_iter()
        .map(|answer| answer.unwrap_or_else(missing))
        .collect()
}

/// A request that a worker can write.
struct Direct {
    at: usize,
    worker: usize,
    request: AcceptRequest,
}

/// The requests that one worker can write, and the others, both in order of arrival.
fn split(shards: &Shards, requests: Vec<AcceptRequest>) -> (Vec<Direct>, Placed) {
    let (mut direct, mut others) = (Vec::with_capacity(requests.len()), Placed::new());
    let mut bytes: usize = 0;
    for (at, request) in requests.into_iter().enumerate() {
        bytes = bytes.saturating_add(size(&request));
        match worker_of(shards, &request) {
            Some(worker) if bytes <= PART_BYTES_MAX => direct.push(Direct { at, worker, request }),
            Some(_) | None => others.push((at, request)),
        }
    }
    // Of duplicates in a batch the first must win, so they are written together.
    let of_others: HashSet<Key> = others.iter().flat_map(|(_, request)| keys(request)).collect();
    let is_among_others = |direct: &Direct| keys(&direct.request).any(|key| of_others.contains(&key));
    if !of_others.is_empty() && direct.iter().any(is_among_others) {
        return (Vec::new(), merged(direct, others));
    }
    (direct, others)
}

fn keys(request: &AcceptRequest) -> impl Iterator<Item = Key> {
    request.events.iter().map(|event| event.key)
}

/// The worker that has all events of a request, if it can write them.
fn worker_of(shards: &Shards, request: &AcceptRequest) -> Option<usize> {
    if check(request).is_some() || !request.events.iter().all(is_plain) {
        return None;
    }
    let mut workers = request.events.iter().map(|event| {
        let shard = shards.of(key_bucket(event.key))?;
        shards.all.get(shard).map(|shard| shard.worker)
    });
    let first = workers.next()??;
    workers.all(|worker| worker == Some(first)).then_some(first)
}

fn size(request: &AcceptRequest) -> usize {
    let events = request.events.iter();
    events
        .map(|event| event.body.len() + event.headers.as_bytes().len())
        .sum()
}

fn merged(direct: Vec<Direct>, mut others: Placed) -> Placed {
    others.extend(direct.into_iter().map(|direct| (direct.at, direct.request)));
    others.sort_unstable_by_key(|(at, _)| *at);
    others
}

/// How many numbers an event takes: its own, and a token for each delivery that is leased already.
fn numbers_of(event: &NewEvent) -> usize {
    let deliveries = event.deliveries.iter();
    1 + deliveries
        .filter(|delivery| delivery.first_lease.is_some())
        .count()
}

/// Gives the events the time and their numbers, in order of arrival. Returns the requests if it cannot.
async fn number(
    runner: &Runner,
    shards: &Arc<Shards>,
    direct: Vec<Direct>,
) -> Result<Vec<Group>, Vec<Direct>> {
    let events = direct.iter().flat_map(|direct| &direct.request.events);
    let count: usize = events.map(numbers_of).sum();
    if count == 0 {
        return Ok(Vec::new());
    }
    let taken = runner
        .run(&count, |session, count| session.take(*count).boxed())
        .await;
    let (now, mut numbers) = match taken {
        Ok((now, numbers)) if numbers.len() == count => (now, numbers),
        Ok(_) | Err(_) => return Err(direct),
    };
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for Direct { at, worker, request } in direct {
        let events = request.events.iter();
        let numbers = events.map(|event| numbers.several(numbers_of(event)).unwrap_or_default());
        let numbers = numbers.collect();
        let group = groups.entry(worker).or_insert_with(|| Group {
            shards: Arc::clone(shards),
            worker,
            now,
            items: Vec::new(),
        });
        group.items.push(Item { at, request, numbers });
    }
    Ok(groups.into_values().collect())
}

async fn write(shards: &Arc<Shards>, group: Group) -> (Group, Result<Option<Claims>, Failure>) {
    let Some(runner) = shards.workers.get(group.worker) else {
        return (group, Ok(None));
    };
    let outcome = runner
        .run(&group, |session, group| in_shards::write(session, group).boxed())
        .await;
    (group, outcome)
}

async fn answer_through_coordinator(runner: &Runner, placed: Placed) -> Vec<(usize, Answer)> {
    if placed.is_empty() {
        return Vec::new();
    }
    let (order, requests): (Vec<usize>, Vec<AcceptRequest>) = placed.into_iter().unzip();
    let answers = through_coordinator(runner, requests).await;
    order.into_iter().zip(answers).collect()
}

/// The answers of a group that was written. Events without a claim are accepted through the coordinator.
async fn complete(runner: &Runner, group: Group, claims: Claims) -> Vec<(usize, Answer)> {
    let mut left = Vec::new();
    for (item, claims) in group.items.iter().zip(&claims) {
        let events = item.request.events.iter().zip(claims);
        let unclaimed = events.filter(|(_, claim)| claim.is_none());
        left.extend(unclaimed.map(|(event, _)| AcceptRequest {
            events: vec![event.clone()],
        }));
    }
    let accepted = if left.is_empty() {
        Vec::new()
    } else {
        through_coordinator(runner, left).await
    };
    let mut accepted = accepted.into_iter();
    let mut claim = |claim: Option<Claim>| -> Result<Claim, Error> {
        if let Some(claim) = claim {
            return Ok(claim);
        }
        let missing = || Failure::Moved.to_error();
        let claims = accepted.next().ok_or_else(missing)??;
        claims.into_iter().next().ok_or_else(missing)
    };
    group
        .items
        .iter()
        .zip(claims)
        .map(|(item, claims)| {
            // All of them are taken, so that each event gets its own.
            let claims: Vec<Result<Claim, Error>> = claims.into_iter().map(&mut claim).collect();
            (item.at, claims.into_iter().collect())
        })
        .collect()
}

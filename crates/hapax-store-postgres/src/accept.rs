//! Accepting: the claims, the payloads and the deliveries of a batch, in one transaction. A request that can never be
//! written is refused alone.

mod at_once;
mod claim;
mod enqueue;
mod in_shards;
mod on_workers;
mod payload;

use std::collections::HashMap;

use futures_util::FutureExt;
use futures_util::future::join3;
use hapax_core::store::{AcceptRequest, Claim, Error, LedgerEntry};
use hapax_core::{Generation, Key, NewEvent, Timestamp};
use uuid::Uuid;

use crate::bodies;
use crate::failure::{self, Failure};
use crate::parts::{Part, Parts};
use crate::rows::{key_bucket, key_uuid};
use crate::session::Session;
use crate::step::Runner;
use crate::tallies::Tallies;
use crate::{indexed, noted};
use at_once::Written;

pub(crate) use on_workers::accept as accept_on_workers;

/// How many times a batch is written if its commit gets no answer.
const UNSURE_MAX: u32 = 3;

/// Accepts requests. Returns one answer per request, in order.
pub(crate) async fn accept(runner: &Runner, requests: Vec<AcceptRequest>) -> Vec<Result<Vec<Claim>, Error>> {
    let refused = requests.iter().map(check).collect();
    let parts = Parts::new(requests, refused, |request| {
        let events = request.events.iter();
        events
            .map(|event| event.body.len() + event.headers.as_bytes().len())
            .sum()
    });
    parts
        .write(|part| async move { write_surely(runner, &part).await })
        .await
}

/// Checks that need no database.
fn check(request: &AcceptRequest) -> Option<Result<Vec<Claim>, Error>> {
    let stray = request
        .events
        .iter()
        .find(|event| event.id.bucket() != event.key.bucket())?;
    Some(Err(Error::Rejected {
        message: format!("the id {} was made for another event", stray.id),
    }))
}

/// Writes a part. If a commit gets no answer, the same events are written again with the same ids: those that were
/// stored are then found.
async fn write_surely(runner: &Runner, part: &Part<AcceptRequest>) -> Result<Vec<Vec<Claim>>, Failure> {
    let mut tries = 1;
    loop {
        match runner
            .run(part, |session, part| write(session, part.items()).boxed())
            .await
        {
            Err(Failure::Unsure(_)) if tries < UNSURE_MAX => tries += 1,
            other => return other,
        }
    }
}

/// The result of claiming a candidate's identity.
enum Fate {
    New {
        generation: Generation,
        /// The previous event of the identity, if the identity was forgotten.
        last: Option<Uuid>,
    },
    Seen(LedgerEntry),
}

async fn write(session: &Session, requests: &[AcceptRequest]) -> Result<Vec<Vec<Claim>>, Failure> {
    let events = || requests.iter().flat_map(|request| &request.events);
    // Duplicates inside the batch: the first of them is the candidate.
    let mut first: HashMap<Key, &NewEvent> = HashMap::new();
    for event in events() {
        first.entry(event.key).or_insert(event);
    }
    let is_candidate = |event: &&NewEvent| {
        first
            .get(&event.key)
            .is_some_and(|found| std::ptr::eq(*found, *event))
    };
    // In order of arrival, which is the order of lists and lanes.
    let arrivals: Vec<&NewEvent> = events().filter(is_candidate).collect();
    let mut candidates = arrivals.clone();
    // A global order: two batches that lock in opposite orders would deadlock.
    candidates.sort_unstable_by_key(|event| (event.key.bucket(), event.key));

    let begun = begin(session, &candidates, &arrivals).await?;
    let now = begun.now;
    let mut tallies = Tallies::default();
    let fates = claim::claim(session, &candidates, &begun.won, now, &mut tallies).await?;
    let mut handed = HashMap::new();
    if let Some(stored) = begun.handed {
        session.commit().await?;
        handed = stored;
    } else {
        let winners: Vec<(&NewEvent, Generation)> = arrivals
            .iter()
            .filter_map(|event| match fates.get(&event.key) {
                Some(Fate::New { generation, .. }) => Some((*event, *generation)),
                Some(Fate::Seen(_)) | None => None,
            })
            .collect();
        if winners.is_empty() {
            session.commit().await?;
        } else {
            let held = bodies::claim(session, &bodies_of(&winners, &fates)).await?;
            let work = enqueue::plan(session, &winners, &held, now).await?;
            tallies.events(winners.len() as i64);
            handed = store(session, &winners, work, now, &tallies).await?;
        }
    }
    requests
        .iter()
        .map(|request| {
            let mut claims = Vec::with_capacity(request.events.len());
            for event in &request.events {
                let fate = fates.get(&event.key).ok_or(Failure::Moved)?;
                claims.push(match fate {
                    Fate::Seen(entry) => Claim::Seen(entry.clone()),
                    Fate::New { generation, .. } if is_candidate(&event) => Claim::New {
                        generation: *generation,
                        tokens: handed.remove(&event.key).unwrap_or_default(),
                    },
                    Fate::New { generation, .. } => {
                        let winner = first.get(&event.key).ok_or(Failure::Moved)?;
                        Claim::Seen(entry(winner, *generation, now))
                    }
                });
            }
            Ok(claims)
        })
        .collect()
}

/// Begins the transaction and claims what is new; in the usual case, everything is written then.
async fn begin(
    session: &Session,
    candidates: &[&NewEvent],
    arrivals: &[&NewEvent],
) -> Result<Written, Failure> {
    if at_once::suits(session, candidates) {
        return at_once::write(session, candidates, arrivals).await;
    }
    let now = session.begin_at().await?;
    Ok(Written {
        now,
        won: claim::insert(session, candidates, now).await?,
        handed: None,
    })
}

/// The new events whose bodies are claimed, each with the previous event of its identity.
fn bodies_of<'e>(
    winners: &[(&'e NewEvent, Generation)],
    fates: &HashMap<Key, Fate>,
) -> Vec<(&'e NewEvent, Option<Uuid>)> {
    let claimed = winners.iter().filter(|(event, _)| event.claimed_body.is_some());
    claimed
        .map(|(event, _)| match fates.get(&event.key) {
            Some(Fate::New { last, .. }) => (*event, *last),
            Some(Fate::Seen(_)) | None => (*event, None),
        })
        .collect()
}

/// Pipelines the payloads, deliveries and sums, and commits.
async fn store(
    session: &Session,
    winners: &[(&NewEvent, Generation)],
    mut work: enqueue::Plan,
    now: Timestamp,
    tallies: &Tallies,
) -> Result<HashMap<Key, Vec<Option<hapax_core::store::Handed>>>, Failure> {
    let (payloads, enqueued, counted) = join3(
        payload::insert(session, winners, &work.numbers, now),
        enqueue::insert(session, &work, now),
        tallies.flush(session),
    )
    .await;
    failure::all(vec![payloads, enqueued, counted])?;
    enqueue::hold(session, &mut work, now).await?;
    indexed::insert(session, winners, &work.numbers).await?;
    note_duplicates(session, winners).await?;
    session.commit().await?;
    Ok(work.handed)
}

/// For forgotten identities that are taken again: earlier duplicates count for the new event, too.
async fn note_duplicates(session: &Session, winners: &[(&NewEvent, Generation)]) -> Result<(), Failure> {
    let again = winners.iter().filter(|(_, generation)| generation.0 > 0);
    let keys: Vec<_> = again
        .map(|(event, _)| (key_bucket(event.key), key_uuid(event.key)))
        .collect();
    let with_duplicates = noted::with_duplicates(session, &keys).await?;
    let keys: Vec<_> = keys
        .into_iter()
        .filter(|(_, key)| with_duplicates.contains(key))
        .collect();
    noted::note_duplicates(session, &keys).await
}

/// The ledger entry of a newly accepted event.
fn entry(event: &NewEvent, generation: Generation, now: Timestamp) -> LedgerEntry {
    LedgerEntry {
        id: event.id,
        generation,
        first_seen: now,
        expires_at: event.ledger_until,
        raw_hash: event.raw_hash,
        content_hash: event.content_hash.clone(),
    }
}

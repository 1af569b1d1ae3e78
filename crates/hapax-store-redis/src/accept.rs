//! Accept: one call per shard, which claims, stores and enqueues.

mod call;
mod habit;

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::store::{AcceptRequest, BodyNote, Claim, Error, Handed, LedgerEntry, Report};
use hapax_core::{AttemptOutcome, EventId, Hold, NewEvent, Timestamp, Token};

use crate::Options;
use crate::bodies::{self, BodyClaim};
use crate::failure::{Failure, damaged};
use crate::finish;
use crate::lanes::{self, Step};
use crate::link::Link;
use crate::shards::Shard;
use call::Claimed;

pub(crate) use call::index_name;
pub(crate) use habit::Habit;

/// An event's place in the call: the request, and the event within it.
type Seat = (usize, usize);

/// The answer for one event, unless its shard failed.
type ClaimResult = Result<Claim, Error>;

pub(crate) async fn accept(
    link: &Arc<Link>,
    options: &Options,
    habit: &Habit,
    requests: Vec<AcceptRequest>,
) -> Vec<Result<Vec<Claim>, Error>> {
    let mut answers: Vec<Vec<Option<ClaimResult>>> = requests
        .iter()
        .map(|request| request.events.iter().map(|_| None).collect())
        .collect();
    let events = requests.iter().flat_map(|request| &request.events);
    let claims = events.filter_map(|event| Some((event.key, BodyNote::claimed_by(event)?)));
    let bodies = bodies::claim(link, claims.collect()).await;
    let mut by_shard: BTreeMap<Shard, Vec<(Seat, Candidate)>> = BTreeMap::new();
    for (place, request) in requests.into_iter().enumerate() {
        for (number, event) in request.events.into_iter().enumerate() {
            let body = match &bodies {
                Ok(bodies) => bodies.get(&event.id),
                Err(failure) if event.claimed_body.is_some() => {
                    answers[place][number] = Some(Err(shared(failure)));
                    continue;
                }
                Err(_) => None,
            };
            if event.id.bucket() == event.key.bucket() {
                let shard = link.shards().of_key(event.key);
                let candidate = Candidate::of(event, body);
                by_shard
                    .entry(shard)
                    .or_default()
                    .push(((place, number), candidate));
            } else {
                answers[place][number] = Some(Err(another_events(event.id)));
            }
        }
    }
    let calls = by_shard
        .into_iter()
        .map(|(shard, events)| claim(link, options, habit, shard, events));
    let claims = futures_util::future::join_all(calls).await;
    let mut claims: Vec<(Seat, Outcome)> = claims.into_iter().flatten().collect();
    // Lanes keep the order of requests, and of events within a request.
    claims.sort_by_key(|(seat, _)| *seat);
    for (seat, outcome) in claims {
        if let (Outcome::Claimed(new, claimed), Ok(bodies)) = (&outcome, &bodies)
            && let Some(id) = claimed.stored_as(new.event.id)
        {
            bodies::name_claim(link, bodies.get(&new.event.id), id).await;
        }
        answers[seat.0][seat.1] = Some(settle(link, outcome).await);
    }
    answers.into_iter().map(whole).collect()
}

/// A request's answer: all of its claims, or its first failure.
fn whole(claims: Vec<Option<ClaimResult>>) -> Result<Vec<Claim>, Error> {
    let unanswered = || Err(damaged("the answer to an accept").into_error());
    claims
        .into_iter()
        .map(|claim| claim.unwrap_or_else(unanswered))
        .collect()
}

/// An event to accept.
pub(super) struct Candidate {
    event: NewEvent,
    /// The event that has the same body, because of which its deliveries are held.
    same_body_as: Option<EventId>,
}

impl Candidate {
    fn of(event: NewEvent, body: Option<&BodyClaim>) -> Self {
        let same_body_as = match body {
            Some(BodyClaim::Other(id)) => Some(*id),
            Some(BodyClaim::Own(_)) | None => None,
        };
        Self { event, same_body_as }
    }
}

/// The result for an event in its shard.
enum Outcome {
    Claimed(Box<Candidate>, Claimed),
    Failed(Arc<Failure>),
}

/// Claims the events of one shard.
async fn claim(
    link: &Link,
    options: &Options,
    habit: &Habit,
    shard: Shard,
    events: Vec<(Seat, Candidate)>,
) -> Vec<(Seat, Outcome)> {
    let claims = {
        let events: Vec<&Candidate> = events.iter().map(|(_, event)| event).collect();
        call::call(link, options, habit, shard, &events).await
    };
    match claims {
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

/// The claim. Its deliveries join their lanes first.
async fn settle(link: &Link, outcome: Outcome) -> ClaimResult {
    let (candidate, claimed) = match outcome {
        Outcome::Claimed(candidate, claimed) => (candidate, claimed),
        Outcome::Failed(failure) => return Err(shared(&failure)),
    };
    let Candidate { event, same_body_as } = *candidate;
    let (generation, tokens) = match claimed {
        Claimed::Seen(entry) => return seen(link, &event, entry.known).await,
        Claimed::Refused => return Err(another_events(event.id)),
        Claimed::OnFew { asked, have, claimed } => {
            give_back(link, &event, *claimed).await;
            return Err(Failure::FewReplicas { asked, have }.into_error());
        }
        Claimed::New(generation, tokens) => (generation, tokens),
    };
    for (delivery, (ticket, _)) in event.deliveries.iter().zip(&tokens) {
        if let Some(lane) = delivery.lane.as_ref().filter(|_| same_body_as.is_none()) {
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

/// Deliveries leased with an event that is not answered run nowhere: they are given back, so that another lease gets
/// them.
async fn give_back(link: &Link, event: &NewEvent, claimed: Claimed) {
    let Claimed::New(_, tokens) = claimed else {
        return;
    };
    let handed = event.deliveries.iter().zip(tokens);
    let reports: Vec<Report> = handed
        .filter(|(_, (_, lease_until))| *lease_until > 0)
        .map(|(delivery, (token, _))| Report {
            hold: Hold {
                event: event.id,
                destination: delivery.destination.clone(),
                token: Token(token),
            },
            attempt: None,
            outcome: AttemptOutcome::Release,
        })
        .collect();
    if let Err(failure) = finish::finish(link, reports).await {
        tracing::warn!(%failure, "a delivery leased at accept waits until its lease expires");
    }
}

/// A duplicate is answered once the first event has its position in every lane, so that later events come behind it.
async fn seen(link: &Link, event: &NewEvent, entry: LedgerEntry) -> ClaimResult {
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

/// One failure, returned to every caller that it affects.
pub(crate) fn shared(failure: &Failure) -> Error {
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

//! From claims to answers: new work starts, copies are counted, other bodies are kept aside.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{BodyNote, Claim, Error, Handed, LedgerEntry, Variant};
use hapax_core::{BodyHash, Generation, Headers, Leased, NewEvent, SourceName, StoredEvent, Timestamp};

use super::cached::is_same;
use super::prepare::{Keyed, Prepared};
use super::queue::refusal;
use super::{Accepted, Untaken};
use crate::engine::Inner;
use crate::observe::{Notice, Observation};

/// What is told of an arrival, whatever became of it.
pub(super) struct Came {
    source: SourceName,
    event_type: Option<String>,
    received_at: Timestamp,
    raw_hash: BodyHash,
    headers: Headers,
}

impl Came {
    fn of(event: &NewEvent) -> Self {
        Self {
            source: event.source.clone(),
            event_type: event.event_type.clone(),
            received_at: event.received_at,
            raw_hash: event.raw_hash,
            headers: event.headers.clone(),
        }
    }
}

impl From<&Keyed> for Came {
    fn from(keyed: &Keyed) -> Self {
        let arrival = &keyed.arrival;
        Self {
            source: arrival.source.clone(),
            event_type: arrival.event_type.clone(),
            received_at: arrival.received_at,
            raw_hash: keyed.raw_hash,
            headers: arrival.headers.clone(),
        }
    }
}

impl Inner {
    /// Turns claims into answers: hands over new work, keeps other bodies aside.
    pub(super) async fn settle(
        self: &Arc<Self>,
        events: Vec<Prepared>,
        claims: Vec<Claim>,
        asked: Duration,
        epoch: u64,
    ) -> Result<Vec<Accepted>, Untaken> {
        let mut answers = Vec::with_capacity(claims.len());
        let mut failed = None;
        for (prepared, claim) in events.into_iter().zip(claims) {
            let came = Came::of(&prepared.event);
            let answer = match claim {
                Claim::New { generation, tokens } => {
                    Ok(self.begin(prepared, generation, tokens, asked, epoch))
                }
                // Our own write, whose answer we had missed: it is new, and its work is in the store.
                Claim::Seen(entry) if entry.id == prepared.event.id => {
                    prepared.source.stir();
                    self.dispatch.notify_one();
                    Ok(prepared.new_as(entry.id))
                }
                Claim::Seen(entry) => self.compare(prepared, entry, asked, epoch).await,
            };
            match answer {
                Ok(answer) => {
                    self.announce(&came, &answer);
                    answers.push(answer);
                }
                // Go on: the other events of the request are durable and their work must start.
                Err(refusal) => failed = Some(refusal),
            }
        }
        failed.map_or(Ok(answers), Err)
    }

    /// A new event is durable: remember it, start what was handed over, wake what was not.
    fn begin(
        self: &Arc<Self>,
        prepared: Prepared,
        generation: Generation,
        tokens: Vec<Option<Handed>>,
        asked: Duration,
        epoch: u64,
    ) -> Accepted {
        let id = prepared.event.id;
        let answer = prepared.new_as(id);
        let Prepared {
            event,
            source,
            permits,
        } = prepared;
        if !source.route.id_is_signed {
            self.gather.body(BodyNote {
                scope: event.identity.scope.clone(),
                raw_hash: event.raw_hash,
                id,
                until: event.ledger_until,
            });
        }
        let entry = LedgerEntry {
            id,
            generation,
            first_seen: event.received_at,
            expires_at: event.ledger_until,
            raw_hash: event.raw_hash,
            content_hash: event.content_hash.clone(),
        };
        self.seen.put(event.key, &entry, asked, epoch);
        let deliveries = event.deliveries.clone();
        let stored = if deliveries.is_empty() {
            None
        } else {
            Some(StoredEvent::from(event))
        };
        let mut waits = false;
        for ((delivery, permit), handed) in deliveries.into_iter().zip(permits).zip(tokens) {
            match (permit, delivery.hand_over.zip(handed), &stored) {
                (Some(permit), Some((terms, handed)), Some(event)) => {
                    let idempotency_key = event.identity.idempotency_key(generation, &delivery.destination);
                    let leased = Leased {
                        event: event.clone(),
                        destination: delivery.destination,
                        token: handed.token,
                        lease_until: handed.lease_until,
                        generation,
                        idempotency_key,
                        attempt: 1,
                        lost: 0,
                        lane: None,
                    };
                    self.start_attempt(terms.owner, leased, permit);
                }
                _ => waits = true,
            }
        }
        if waits {
            source.stir();
            self.dispatch.notify_one();
        }
        answer
    }

    /// The identity was taken before: by the same body, or by another?
    async fn compare(
        &self,
        prepared: Prepared,
        entry: LedgerEntry,
        asked: Duration,
        epoch: u64,
    ) -> Result<Accepted, Untaken> {
        let event = prepared.give_back();
        let id = entry.id;
        let failed = |during, error: &Error| {
            self.observe(&Observation::StoreFailed { during, error });
            Untaken::from(refusal(error))
        };
        let is_elsewhere = self
            .is_for_another_target(&entry, event.content_hash.as_ref())
            .await;
        if is_elsewhere.map_err(|error| failed("comparing targets", &error))? {
            return Err(Untaken::OtherTarget);
        }
        let first = (entry.raw_hash, entry.content_hash.as_ref());
        if is_same(first, (event.raw_hash, event.content_hash.as_ref())) {
            let first_seen = entry.first_seen;
            self.gather.copy(event.key, first_seen, event.received_at);
            self.seen.put(event.key, &entry, asked, epoch);
            return Ok(Accepted::Duplicate {
                id,
                event_id: event.identity.event_id,
                first_seen,
            });
        }
        let variant = Variant {
            key: event.key,
            first: id,
            source: event.source,
            raw_hash: event.raw_hash,
            received_at: event.received_at,
            headers: event.headers,
            body: event.body,
        };
        match self.parts.store.quarantine(vec![variant]).await {
            Ok(_) => Ok(Accepted::Conflict {
                id,
                event_id: event.identity.event_id,
            }),
            Err(error) => Err(failed("keeping a conflicting body", &error)),
        }
    }

    pub(super) fn announce(&self, came: &Came, answer: &Accepted) {
        let age = match answer {
            Accepted::Duplicate { first_seen, .. } => came.received_at.since(*first_seen),
            Accepted::New { .. } | Accepted::Quarantined { .. } | Accepted::Conflict { .. } => Duration::ZERO,
        };
        self.observe(&Observation::Arrived {
            source: &came.source,
            accepted: answer,
            age,
            raw_hash: came.raw_hash,
            headers: &came.headers,
        });
        if self.tail.receiver_count() > 0 {
            let notice = Notice {
                id: answer.id(),
                source: came.source.clone(),
                event_id: answer.event_id().to_owned(),
                event_type: came.event_type.clone(),
                received_at: came.received_at,
                status: answer.status(),
            };
            // Nobody listening any more is no error.
            let _ = self.tail.send(notice);
        }
    }
}

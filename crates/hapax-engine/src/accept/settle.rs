//! From claims to answers: new work starts, copies are counted, other bodies are kept aside.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{BodyNote, Claim, Handed, LedgerEntry, Variant};
use hapax_core::{Generation, Leased, SourceName, StoredEvent, Timestamp};

use super::cached::is_same;
use super::prepare::Prepared;
use super::queue::refusal;
use super::{Accepted, Refusal};
use crate::engine::Inner;
use crate::observe::{Notice, Observation};

impl Inner {
    /// Turns claims into answers: hands over new work, keeps other bodies aside.
    pub(super) async fn settle(
        self: &Arc<Self>,
        events: Vec<Prepared>,
        claims: Vec<Claim>,
        asked: Duration,
        epoch: u64,
    ) -> Result<Vec<Accepted>, Refusal> {
        let mut answers = Vec::with_capacity(claims.len());
        let mut failed = None;
        for (prepared, claim) in events.into_iter().zip(claims) {
            let (source, event_type, received_at) = (
                prepared.event.source.clone(),
                prepared.event.event_type.clone(),
                prepared.event.received_at,
            );
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
                    self.announce(&source, event_type.as_deref(), received_at, &answer);
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
            match (permit, handed, &stored) {
                (Some(permit), Some(handed), Some(event)) => {
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
                    self.start_attempt(leased, permit);
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
    ) -> Result<Accepted, Refusal> {
        let event = prepared.give_back();
        let id = entry.id;
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
            Err(error) => {
                self.observe(&Observation::StoreFailed {
                    during: "keeping a conflicting body",
                    error: &error,
                });
                Err(refusal(&error))
            }
        }
    }

    pub(super) fn announce(
        &self,
        source: &SourceName,
        event_type: Option<&str>,
        received_at: Timestamp,
        answer: &Accepted,
    ) {
        let age = match answer {
            Accepted::Duplicate { first_seen, .. } => received_at.since(*first_seen),
            Accepted::New { .. } | Accepted::Quarantined { .. } | Accepted::Conflict { .. } => Duration::ZERO,
        };
        self.observe(&Observation::Arrived {
            source,
            accepted: answer,
            age,
        });
        if self.tail.receiver_count() > 0 {
            let notice = Notice {
                id: answer.id(),
                source: source.clone(),
                event_id: answer.event_id().to_owned(),
                event_type: event_type.map(str::to_owned),
                received_at,
                status: answer.status(),
            };
            // Nobody listening any more is no error.
            let _ = self.tail.send(notice);
        }
    }
}

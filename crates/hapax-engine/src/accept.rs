//! Accept: claim, store and enqueue what arrived, in one durable write, then answer.
//!
//! Requests wait in one bounded queue; a loop writes all that wait together. The request's own
//! future only waits for the answer: a client that hangs up cannot tear the write, nor lose the
//! work that was handed over with it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::delivery::HandOver;
use hapax_core::store::{AcceptRequest, BodyNote, Claim, Error, Handed, LedgerEntry, Variant};
use hapax_core::{
    BodyHash, ContentHash, EventId, Generation, Headers, Identity, Key, Lane, Leased, NewDelivery, NewEvent,
    SourceName, StoredEvent, Timestamp,
};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::engine::{Engine, Inner, Source};
use crate::observe::{Notice, Observation};
use crate::port::Permit;

/// What senders are told to wait when the store cannot take their event now.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An event as the server hands it in: verified and identified.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// The source that received it.
    pub source: SourceName,
    /// The sender's id, in its one injective form.
    pub event_id: String,
    /// The sender's type.
    pub event_type: Option<String>,
    /// The timestamp under the signature.
    pub signed_at: Option<Timestamp>,
    /// Which secret matched.
    pub secret_index: Option<u16>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Headers as they arrived.
    pub headers: Headers,
    /// The body as it arrived (of a batch: the item).
    pub body: Bytes,
    /// A hash over what stays the same on a retry, where the preset leaves fields out.
    pub content_hash: Option<ContentHash>,
    /// Of a split batch: the id of the request and the item's place in it.
    pub batch: Option<(EventId, u32)>,
}

/// The answer for one event. All of them mean: durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is new, and stored.
    New {
        /// Our id.
        id: EventId,
        /// The sender's.
        event_id: String,
    },
    /// It was here before.
    Duplicate {
        /// The first one's id.
        id: EventId,
        /// The sender's.
        event_id: String,
        /// When the first was committed.
        first_seen: Timestamp,
    },
    /// Its id was here before, with another body. The variant is kept aside.
    Conflict {
        /// The first one's id.
        id: EventId,
        /// The sender's.
        event_id: String,
    },
}

impl Accepted {
    /// `accepted`, `duplicate` or `conflict`.
    pub const fn status(&self) -> &'static str {
        match self {
            Self::New { .. } => "accepted",
            Self::Duplicate { .. } => "duplicate",
            Self::Conflict { .. } => "conflict",
        }
    }

    /// Our id (the first one's, for a copy).
    pub const fn id(&self) -> EventId {
        match self {
            Self::New { id, .. } | Self::Duplicate { id, .. } | Self::Conflict { id, .. } => *id,
        }
    }

    /// The sender's id.
    pub fn event_id(&self) -> &str {
        match self {
            Self::New { event_id, .. }
            | Self::Duplicate { event_id, .. }
            | Self::Conflict { event_id, .. } => event_id,
        }
    }
}

/// Why a request was not taken. Nothing is promised to its sender, who will come again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No source has this name.
    #[error("no source has this name")]
    UnknownSource,
    /// The source's rate is used up.
    #[error("the source's rate limit is used up")]
    RateLimited {
        /// When to come again.
        retry_after: Duration,
    },
    /// Too much waits to be written.
    #[error("too many requests wait to be written")]
    Overloaded {
        /// When to come again.
        retry_after: Duration,
    },
    /// The store cannot write.
    #[error("{message}")]
    Unavailable {
        /// When to come again.
        retry_after: Duration,
        /// What is wrong.
        message: String,
    },
    /// The process is about to end.
    #[error("the service is shutting down")]
    ShuttingDown {
        /// When to come again.
        retry_after: Duration,
    },
    /// The store will never take this very event.
    #[error("{message}")]
    Rejected {
        /// Why.
        message: String,
    },
}

/// A request in the queue.
pub(crate) struct Waiting {
    events: Vec<Prepared>,
    answer: oneshot::Sender<Result<Vec<Accepted>, Refusal>>,
}

/// An arrival with its key and hash, each computed once.
struct Keyed {
    arrival: Arrival,
    identity: Identity,
    key: Key,
    raw_hash: BodyHash,
}

/// An event on its way, with the permits of the deliveries that are to be handed over.
struct Prepared {
    event: NewEvent,
    source: Arc<Source>,
    permits: Vec<Option<Permit>>,
}

impl Engine {
    /// Takes the events of one request. Answers only when every one of them is durable.
    ///
    /// # Errors
    /// A [`Refusal`]: then nothing is promised, and the sender must come again.
    pub async fn accept(&self, arrivals: Vec<Arrival>) -> Result<Vec<Accepted>, Refusal> {
        let inner = &self.0;
        if inner.is_stopping() {
            return Err(Refusal::ShuttingDown {
                retry_after: RETRY_AFTER,
            });
        }
        let now = inner.elapsed();
        let plan = inner.plan.load();
        let first = arrivals.first().ok_or(Refusal::UnknownSource)?;
        let source = plan.sources.get(&first.source).ok_or(Refusal::UnknownSource)?;
        if let Some(bucket) = &source.bucket {
            bucket
                .take(1, now)
                .map_err(|retry_after| Refusal::RateLimited { retry_after })?;
        }
        let arrivals: Vec<Keyed> = arrivals
            .into_iter()
            .map(|arrival| source.keyed(arrival))
            .collect();
        if let Some(answers) = inner.answer_from_cache(&arrivals, now) {
            return Ok(answers);
        }
        let events = arrivals
            .into_iter()
            .map(|arrival| inner.prepare(source, arrival, now))
            .collect();
        drop(plan);
        let (answer, answered) = oneshot::channel();
        inner
            .accept_queue
            .try_send(Waiting { events, answer })
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => Refusal::Overloaded {
                    retry_after: RETRY_AFTER,
                },
                mpsc::error::TrySendError::Closed(_) => Refusal::ShuttingDown {
                    retry_after: RETRY_AFTER,
                },
            })?;
        answered.await.unwrap_or(Err(Refusal::ShuttingDown {
            retry_after: RETRY_AFTER,
        }))
    }
}

impl Inner {
    /// Answers without the store if every event is a known copy. A conflict is never answered here:
    /// its body must be kept first.
    fn answer_from_cache(&self, arrivals: &[Keyed], now: Duration) -> Option<Vec<Accepted>> {
        let epoch = self.parts.store.connection_epoch();
        let mut answers = Vec::with_capacity(arrivals.len());
        for keyed in arrivals {
            let entry = self.seen.get(keyed.key, now, epoch)?;
            if !is_same(&entry, keyed.raw_hash, keyed.arrival.content_hash.as_ref()) {
                return None;
            }
            answers.push(Accepted::Duplicate {
                id: entry.id,
                event_id: keyed.identity.event_id.clone(),
                first_seen: entry.first_seen,
            });
        }
        for (Keyed { arrival, key, .. }, answer) in arrivals.iter().zip(&answers) {
            if let Accepted::Duplicate { first_seen, .. } = answer {
                self.gather.copy(*key, *first_seen, arrival.received_at);
            }
            self.announce(
                &arrival.source,
                arrival.event_type.as_deref(),
                arrival.received_at,
                answer,
            );
        }
        Some(answers)
    }

    fn prepare(&self, source: &Arc<Source>, keyed: Keyed, now: Duration) -> Prepared {
        let Keyed {
            arrival,
            identity,
            key,
            raw_hash,
        } = keyed;
        let mut permits = Vec::with_capacity(source.ports.len());
        let mut deliveries = Vec::with_capacity(source.ports.len());
        for port in &source.ports {
            let delivery = port.with_settings(|destination| {
                destination.wants(arrival.event_type.as_deref()).then(|| {
                    let lane_key = destination
                        .order_by
                        .as_ref()
                        .and_then(|order| order.key(&arrival.headers, &arrival.body));
                    let lane = lane_key.map(|key| Lane {
                        key,
                        on_dead: destination.on_dead,
                    });
                    (destination.id.clone(), lane, destination.lease)
                })
            });
            let Some((destination, lane, lease_for)) = delivery else {
                continue;
            };
            let may_hand_over = lane.is_none() && !self.is_stopping();
            let permit = if may_hand_over { port.hand_over(now) } else { None };
            let hand_over = permit.as_ref().map(|_| HandOver {
                owner: self.owner,
                lease_for,
            });
            deliveries.push(NewDelivery {
                destination,
                lane,
                hand_over,
            });
            permits.push(permit);
        }
        let event = NewEvent {
            id: self.ids.next(arrival.received_at, key, &*self.parts.random),
            key,
            identity,
            source: arrival.source,
            event_type: arrival.event_type,
            received_at: arrival.received_at,
            signed_at: arrival.signed_at,
            secret_index: arrival.secret_index,
            raw_hash,
            content_hash: arrival.content_hash,
            headers: arrival.headers,
            body: arrival.body,
            batch: arrival.batch,
            ledger_until: arrival.received_at.plus(source.route.ledger_window),
            deliveries,
        };
        Prepared {
            event,
            source: Arc::clone(source),
            permits,
        }
    }

    /// Writes what waits, all of it together, until the door is shut and the queue is empty.
    pub(crate) async fn accept_loop(self: Arc<Self>, mut queue: mpsc::Receiver<Waiting>) {
        let in_flight = self.limits.accept_in_flight.max(1);
        let slots = Arc::new(Semaphore::new(in_flight));
        loop {
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
                return;
            };
            let mut batch = Vec::with_capacity(64);
            let count = tokio::select! {
                biased;
                count = queue.recv_many(&mut batch, self.limits.accept_batch) => count,
                () = self.shut_door.cancelled() => {
                    queue.close();
                    queue.recv_many(&mut batch, self.limits.accept_batch).await
                }
            };
            if count == 0 {
                // Every batch under way holds a slot: wait for them all.
                drop(slot);
                let _ = slots.acquire_many(in_flight as u32).await;
                return;
            }
            if in_flight == 1 {
                self.accept_batch(batch).await;
            } else {
                let inner = Arc::clone(&self);
                self.parts.runtime.spawn(Box::pin(async move {
                    inner.accept_batch(batch).await;
                    drop(slot);
                }));
            }
        }
    }

    async fn accept_batch(self: &Arc<Self>, batch: Vec<Waiting>) {
        let asked = self.elapsed();
        let epoch = self.parts.store.connection_epoch();
        let requests = batch
            .iter()
            .map(|waiting| AcceptRequest {
                events: waiting
                    .events
                    .iter()
                    .map(|prepared| prepared.event.clone())
                    .collect(),
            })
            .collect();
        fail::fail_point!("accept.before_store");
        let results = self.parts.store.accept(requests).await;
        fail::fail_point!("accept.after_store");
        let took = self.elapsed().saturating_sub(asked);
        let events = batch.iter().map(|waiting| waiting.events.len()).sum();
        self.observe(&Observation::StoreWrite { events, took });
        for (waiting, result) in batch.into_iter().zip(results) {
            let answer = match result {
                Ok(claims) => self.settle(waiting.events, claims, asked, epoch).await,
                Err(error) => {
                    self.observe(&Observation::StoreFailed {
                        during: "accepting",
                        error: &error,
                    });
                    Err(refusal(&error))
                }
            };
            fail::fail_point!("accept.before_answer");
            // The sender may have hung up; what was accepted is accepted all the same.
            let _ = waiting.answer.send(answer);
        }
    }

    /// Turns claims into answers: hands over new work, keeps other bodies aside.
    async fn settle(
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
                    Ok(Accepted::New {
                        id: entry.id,
                        event_id: prepared.event.identity.event_id,
                    })
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
        let Prepared {
            event,
            source,
            permits,
        } = prepared;
        let id = event.id;
        let event_id = event.identity.event_id.clone();
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
        self.seen.put(event.key, entry, asked, epoch);
        let deliveries = event.deliveries.clone();
        let stored = if deliveries.is_empty() {
            None
        } else {
            Some(stored(event))
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
        Accepted::New { id, event_id }
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
        if is_same(&entry, event.raw_hash, event.content_hash.as_ref()) {
            let first_seen = entry.first_seen;
            self.gather.copy(event.key, first_seen, event.received_at);
            self.seen.put(event.key, entry, asked, epoch);
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

    fn announce(
        &self,
        source: &SourceName,
        event_type: Option<&str>,
        received_at: Timestamp,
        answer: &Accepted,
    ) {
        let age = match answer {
            Accepted::Duplicate { first_seen, .. } => received_at.since(*first_seen),
            Accepted::New { .. } | Accepted::Conflict { .. } => Duration::ZERO,
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

impl Prepared {
    /// The event was not new: what was reserved to run it goes back.
    fn give_back(self) -> NewEvent {
        for permit in self.permits.into_iter().flatten() {
            permit.port().unused(1);
        }
        self.event
    }
}

impl Source {
    fn keyed(&self, mut arrival: Arrival) -> Keyed {
        let event_id = std::mem::take(&mut arrival.event_id);
        let identity = Identity {
            scope: self.route.scope.clone(),
            event_id,
        };
        Keyed {
            key: identity.key(),
            raw_hash: BodyHash::of(&arrival.body),
            identity,
            arrival,
        }
    }

    /// Its destinations may have something due.
    fn stir(&self) {
        for port in &self.ports {
            port.stir();
        }
    }
}

/// Whether a copy is the same event. A preset that leaves fields out decides by its content hash,
/// if the first was hashed by the same rule; otherwise the raw bytes decide.
fn is_same(entry: &LedgerEntry, raw: BodyHash, content: Option<&ContentHash>) -> bool {
    if entry.raw_hash == raw {
        return true;
    }
    match (&entry.content_hash, content) {
        (Some(first), Some(copy)) => first == copy,
        (None, _) | (_, None) => false,
    }
}

fn refusal(error: &Error) -> Refusal {
    match error {
        Error::Overloaded => Refusal::Overloaded {
            retry_after: RETRY_AFTER,
        },
        Error::Unavailable { .. } | Error::Damaged { .. } => Refusal::Unavailable {
            retry_after: RETRY_AFTER,
            message: error.to_string(),
        },
        Error::Rejected { message } => Refusal::Rejected {
            message: message.clone(),
        },
    }
}

fn stored(event: NewEvent) -> StoredEvent {
    StoredEvent {
        id: event.id,
        identity: event.identity,
        source: event.source,
        event_type: event.event_type,
        received_at: event.received_at,
        signed_at: event.signed_at,
        secret_index: event.secret_index,
        raw_hash: event.raw_hash,
        headers: event.headers,
        body: event.body,
        batch: event.batch,
    }
}

//! From claims to answers: starts new deliveries, counts duplicates, and passes on events that need another store
//! lookup.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::{BodyNote, Claim, Handed, LedgerEntry};
use hapax_core::{DestinationId, Generation, Leased, NewEvent, StoredEvent};

use super::arrival::Arrival;
use super::cached::is_same;
use super::directed::{Target, compare_targets};
use crate::destination_runtime::Reserved;
use crate::engine::Inner;
use crate::incoming::Accepted;
use crate::plan::Source;
use crate::requests::Prepared;

/// The state of one event after the store has claimed it.
pub(super) enum Settled {
    Answered(Accepted),
    /// Its id belongs to another target.
    OtherTarget,
    /// Its id is known, and it is not known to be a duplicate.
    Contested(Box<Contested>),
}

/// An event with a known id, and the ledger's entry for the first event.
pub(super) struct Contested {
    pub(super) event: NewEvent,
    pub(super) entry: LedgerEntry,
    pub(super) source: Arc<Source>,
}

impl Inner {
    /// Turns claims into answers: starts new deliveries, and finds events that are not duplicates.
    pub(super) fn settle(
        self: &Arc<Self>,
        events: Vec<Prepared>,
        claims: Vec<Claim>,
        asked: Duration,
        epoch: u64,
    ) -> Vec<Settled> {
        let claimed = events.into_iter().zip(claims);
        claimed
            .map(|(prepared, claim)| match claim {
                Claim::New { generation, tokens } => {
                    Settled::Answered(self.begin(prepared, generation, tokens, asked, epoch))
                }
                // Our own write, whose answer we missed: the event is new, and its deliveries are in the store.
                Claim::Seen(entry) if entry.id == prepared.event.id => {
                    prepared.source.mark_dirty();
                    self.dispatch.notify_one();
                    let answer = prepared.new_as(entry.id);
                    self.announce(&Arrival::of(&prepared.event), &answer);
                    Settled::Answered(answer)
                }
                Claim::Seen(entry) => self.compare(prepared, entry, asked, epoch),
            })
            .collect()
    }

    /// A new event is durable: remember and announce it, start the deliveries that are already leased, and wake the
    /// dispatcher for the rest.
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
            mut event,
            source,
            permits,
        } = prepared;
        if !source.route.id_is_signed && event.claimed_body.is_none() {
            self.gather.body(BodyNote::of(&event));
        }
        let entry = LedgerEntry {
            id,
            generation,
            first_seen: event.received_at,
            expires_at: event.ledger_until,
            raw_hash: event.raw_hash,
            content_hash: event.content_hash.take(),
        };
        self.seen.put(event.key, entry, asked, epoch);
        self.announce(&Arrival::of(&event), &answer);
        let deliveries = std::mem::take(&mut event.deliveries);
        let stored = if deliveries.is_empty() {
            None
        } else {
            Some(StoredEvent::from(event))
        };
        let mut waits = Vec::new();
        for ((delivery, reserved), handed) in deliveries.into_iter().zip(permits).zip(tokens) {
            let handed = delivery.first_lease.zip(handed);
            let permit = reserved.filter(|_| handed.is_some()).and_then(Reserved::used);
            match (permit, handed, &stored) {
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
                _ => waits.push(delivery.destination),
            }
        }
        if !waits.is_empty() {
            self.add_due(&waits);
        }
        answer
    }

    /// One more delivery is due at each of these destinations.
    fn add_due(&self, destinations: &[DestinationId]) {
        let plan = self.plan.load();
        for runtime in destinations.iter().filter_map(|id| plan.destinations.get(id)) {
            runtime.add_due();
        }
        self.dispatch.notify_one();
    }

    /// Returns the permits of an event that is not new.
    pub(super) fn return_permits(&self, permits: Vec<Option<Reserved>>) {
        let mut reserved = permits.into_iter().flatten();
        if reserved.any(Reserved::return_unused) {
            self.dispatch.notify_one();
        }
    }

    /// The identity is known: is the body the same?
    fn compare(&self, prepared: Prepared, entry: LedgerEntry, asked: Duration, epoch: u64) -> Settled {
        let Prepared {
            event,
            source,
            permits,
        } = prepared;
        self.return_permits(permits);
        let (key, first) = (event.key, (entry.raw_hash, entry.content_hash.as_ref()));
        let own = event.content_hash.as_ref();
        match compare_targets(&entry, own) {
            Target::Other => Settled::OtherTarget,
            Target::Same if is_same(first, (event.raw_hash, own)) => {
                let answer = self.duplicate(event, &entry);
                self.seen.put(key, entry, asked, epoch);
                Settled::Answered(answer)
            }
            Target::Same | Target::Unknown => {
                Settled::Contested(Box::new(Contested { event, entry, source }))
            }
        }
    }

    /// Counts and announces a duplicate.
    pub(super) fn duplicate(&self, mut event: NewEvent, entry: &LedgerEntry) -> Accepted {
        let first_seen = entry.first_seen;
        self.gather.duplicate(event.key, first_seen, event.received_at);
        let answer = Accepted::Duplicate {
            id: entry.id,
            event_id: std::mem::take(&mut event.identity.event_id),
            first_seen,
        };
        self.announce(&Arrival::of(&event), &answer);
        answer
    }
}

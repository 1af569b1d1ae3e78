//! Accept: the claim, the payload and the deliveries of one event.

use hapax_core::store::{AcceptRequest, BodyNote, Claim, Error, Handed, LedgerEntry};
use hapax_core::{DeliveryState, Generation, NewDelivery, NewEvent, StoredEvent, Timestamp};

use super::state::{Delivery, EventRow, Forgotten, LedgerRow, State};

impl State {
    /// One request; nothing of it is written if one of its events cannot be.
    pub(super) fn accept(&mut self, now: Timestamp, request: AcceptRequest) -> Result<Vec<Claim>, Error> {
        for event in &request.events {
            if let Some(known) = self.events.get(&event.id)
                && known.event.identity != event.identity
            {
                return Err(Error::Rejected {
                    message: format!("the id {} belongs to another event", event.id),
                });
            }
        }
        Ok(request
            .events
            .into_iter()
            .map(|event| self.claim(now, event))
            .collect())
    }

    fn claim(&mut self, now: Timestamp, event: NewEvent) -> Claim {
        let (generation, last) = match self.ledger.get(&event.key) {
            Some(row) if row.forgotten == Forgotten::No => return Claim::Seen(row.entry.clone()),
            Some(tombstone) => (tombstone.entry.generation, Some(tombstone.entry.id)),
            None => (Generation::default(), None),
        };
        self.ledger.insert(event.key, ledger_row(now, generation, &event));
        let deliveries = event.deliveries.clone();
        let id = event.id;
        let identity = event.identity.clone();
        let body = BodyNote::claimed_by(&event);
        let sequence = self.next_sequence();
        let row = EventRow {
            key: event.key,
            generation,
            accepted_at: now,
            sequence,
            same_body_as: None,
            indexed: event.indexed.clone(),
            event: StoredEvent::from(event),
        };
        self.events.insert(id, row);
        let is_held = body.is_some_and(|body| self.claim_body(body, last));
        let tokens = deliveries
            .into_iter()
            .map(|new| {
                let token = self.next_token();
                if is_held {
                    let mut delivery = Delivery::waiting(&identity, &new.destination, generation, token);
                    delivery.lane = new.lane;
                    delivery.place = sequence;
                    self.deliveries.insert((id, new.destination.clone()), delivery);
                    self.hold(now, id, &new.destination);
                    return None;
                }
                let mut delivery = Delivery::waiting(&identity, &new.destination, generation, token);
                let handed = start(&mut delivery, now, &new);
                self.deliveries.insert((id, new.destination.clone()), delivery);
                if handed.is_none() {
                    self.join(now, id, &new.destination, new.lane, sequence);
                }
                handed
            })
            .collect();
        Claim::New { generation, tokens }
    }
}

/// Starts a delivery at once if it is leased with the accept.
fn start(delivery: &mut Delivery, now: Timestamp, new: &NewDelivery) -> Option<Handed> {
    let terms = new.first_lease?;
    delivery.state = DeliveryState::Running;
    delivery.attempts = 1;
    delivery.lease_until = now.plus(terms.lease_for);
    delivery.owner = Some(terms.owner);
    Some(Handed {
        token: delivery.token,
        lease_until: delivery.lease_until,
    })
}

fn ledger_row(now: Timestamp, generation: Generation, event: &NewEvent) -> LedgerRow {
    LedgerRow {
        scope: event.identity.scope.clone(),
        entry: LedgerEntry {
            id: event.id,
            generation,
            first_seen: now,
            expires_at: event.ledger_until,
            raw_hash: event.raw_hash,
            content_hash: event.content_hash.clone(),
        },
        forgotten: Forgotten::No,
    }
}

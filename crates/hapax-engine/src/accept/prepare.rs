//! From an arrival to a row: its key, its id, its deliveries, and the permits to run them at once.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::delivery::HandOver;
use hapax_core::store::IndexedValue;
use hapax_core::{BodyHash, EventId, Identity, Key, Lane, NewDelivery, NewEvent, is_set_aside};

use super::cached::Hashes;
use super::{Accepted, Arrival};
use crate::engine::{Inner, Source};
use crate::port::{Port, Reserved};
use crate::routing::SameBody;

/// An arrival with its key and hash, each computed once.
pub(crate) struct Keyed {
    pub(super) arrival: Arrival,
    pub(super) identity: Identity,
    pub(super) key: Key,
    pub(super) raw_hash: BodyHash,
    /// Other identities under which its content may be known.
    pub(super) aliases: Vec<Identity>,
}

impl Keyed {
    pub(super) fn hashes(&self) -> Hashes<'_> {
        (self.raw_hash, self.arrival.content_hash.as_ref())
    }
}

/// An event on its way, with the permits of the deliveries that are to be handed over.
pub(crate) struct Prepared {
    pub(super) event: NewEvent,
    pub(super) source: Arc<Source>,
    pub(super) permits: Vec<Option<Reserved>>,
}

/// A delivery to make, and the permit to run it at once.
type Planned = (NewDelivery, Option<Reserved>);

impl Inner {
    /// Prepares an event for the destinations of its source that want it.
    pub(super) fn prepare(&self, source: &Arc<Source>, keyed: Keyed, now: Duration) -> Prepared {
        let arrival = &keyed.arrival;
        // What has no id of its own waits for an operator: no one can tell a copy of it from another event.
        let set_aside = is_set_aside(&keyed.identity.event_id);
        let wanted = source.ports.iter().filter(|port| {
            !set_aside && port.with_settings(|destination| destination.wants(arrival.event_type.as_deref()))
        });
        let planned = wanted.map(|port| self.plan_delivery(port, arrival, None, now));
        let planned = planned.collect();
        self.prepared(source, keyed, planned)
    }

    /// Prepares an event for one destination, whatever the types it wants.
    pub(super) fn prepare_for(
        &self,
        source: &Arc<Source>,
        keyed: Keyed,
        port: &Arc<Port>,
        order_key: Option<String>,
        now: Duration,
    ) -> Prepared {
        let planned = self.plan_delivery(port, &keyed.arrival, order_key, now);
        self.prepared(source, keyed, vec![planned])
    }

    fn plan_delivery(
        &self,
        port: &Arc<Port>,
        arrival: &Arrival,
        order_key: Option<String>,
        now: Duration,
    ) -> Planned {
        let (destination, lane, lease_for) = port.with_settings(|destination| {
            let own = || {
                let order = destination.order_by.as_ref()?;
                order.key(&arrival.headers, &arrival.body)
            };
            let lane = order_key.or_else(own).map(|key| Lane {
                key,
                on_dead: destination.on_dead,
            });
            (destination.id.clone(), lane, destination.lease)
        });
        let may_hand_over = lane.is_none() && !self.is_stopping();
        let owner = self.owners.current(now).filter(|_| may_hand_over);
        let permit = owner.and_then(|_| port.hand_over(now));
        let hand_over = permit
            .as_ref()
            .and(owner)
            .map(|owner| HandOver { owner, lease_for });
        let delivery = NewDelivery {
            destination,
            lane,
            hand_over,
        };
        (delivery, permit)
    }

    fn prepared(&self, source: &Arc<Source>, keyed: Keyed, planned: Vec<Planned>) -> Prepared {
        let Keyed {
            arrival,
            identity,
            key,
            raw_hash,
            aliases: _,
        } = keyed;
        let (deliveries, permits) = planned.into_iter().unzip();
        let indexed = IndexedValue::of_body(&arrival.body, &source.route.indexed);
        let holds = !source.route.id_is_signed && source.route.same_body == SameBody::Hold;
        let scope = identity.scope.clone();
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
            indexed,
            deliveries,
            claimed_body: holds.then_some((scope, raw_hash)),
        };
        Prepared {
            event,
            source: Arc::clone(source),
            permits,
        }
    }
}

impl Inner {
    /// Prepares an event whose id another content has taken, under an id of its own. It waits to be leased: what was
    /// reserved to run it has gone back.
    pub(super) fn prepare_conflict(&self, source: Arc<Source>, event: NewEvent) -> Prepared {
        let content = event.content_hash.as_ref();
        let content = content.map_or(&event.raw_hash, |content| &content.hash);
        let identity = event.identity.of_conflict(content);
        let key = identity.key();
        let waiting = |delivery| NewDelivery {
            hand_over: None,
            ..delivery
        };
        let deliveries: Vec<_> = event.deliveries.into_iter().map(waiting).collect();
        Prepared {
            permits: deliveries.iter().map(|_| None).collect(),
            event: NewEvent {
                id: self.ids.next(event.received_at, key, &*self.parts.random),
                key,
                identity,
                deliveries,
                ..event
            },
            source,
        }
    }
}

impl Prepared {
    /// The answer for an event that is new.
    pub(super) fn new_as(&self, id: EventId) -> Accepted {
        let event_id = self.event.identity.event_id.clone();
        if self.event.deliveries.is_empty() && is_set_aside(&event_id) {
            Accepted::Quarantined { id, event_id }
        } else {
            Accepted::New { id, event_id }
        }
    }
}

impl Source {
    pub(super) fn keyed(&self, mut arrival: Arrival) -> Keyed {
        let event_id = std::mem::take(&mut arrival.event_id);
        let identity = Identity {
            scope: self.route.scope.clone(),
            event_id,
        };
        let raw_hash = BodyHash::of(&arrival.body);
        Keyed {
            key: identity.key(),
            raw_hash,
            aliases: self.aliases(&arrival, &identity, &raw_hash),
            identity,
            arrival,
        }
    }

    /// Its destinations may have something due.
    pub(super) fn stir(&self) {
        for port in &self.ports {
            port.stir();
        }
    }
}

//! From an arrival to a row: its key, its id, its deliveries, and the permits to start them immediately.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::delivery::FirstLease;
use hapax_core::store::IndexedValue;
use hapax_core::{Identity, Lane, NewDelivery, NewEvent, is_set_aside};

use crate::destination_runtime::{DestinationRuntime, Reserved};
use crate::engine::Inner;
use crate::incoming::IncomingEvent;
use crate::plan::Source;
use crate::requests::{Keyed, Prepared};
use crate::routing::SameBody;

/// A delivery to create, and the permit to start it immediately.
type Planned = (NewDelivery, Option<Reserved>);

impl Inner {
    /// Prepares an event for the destinations of its source that want it.
    pub(super) fn prepare(&self, source: &Arc<Source>, keyed: Keyed, now: Duration) -> Prepared {
        let incoming = &keyed.incoming;
        // An event without an id of its own waits for an operator: its duplicates cannot be recognised.
        let set_aside = is_set_aside(&keyed.identity.event_id);
        let wanted = source.destinations.iter().filter(|runtime| {
            !set_aside
                && runtime.with_settings(|destination| destination.wants(incoming.event_type.as_deref()))
        });
        let planned = wanted.map(|runtime| self.plan_delivery(runtime, incoming, None, now));
        let planned = planned.collect();
        self.prepared(source, keyed, planned)
    }

    /// Prepares an event for one destination, whichever event types that destination wants.
    pub(super) fn prepare_for(
        &self,
        source: &Arc<Source>,
        keyed: Keyed,
        runtime: &Arc<DestinationRuntime>,
        order_key: Option<String>,
        now: Duration,
    ) -> Prepared {
        let planned = self.plan_delivery(runtime, &keyed.incoming, order_key, now);
        self.prepared(source, keyed, vec![planned])
    }

    fn plan_delivery(
        &self,
        runtime: &Arc<DestinationRuntime>,
        incoming: &IncomingEvent,
        order_key: Option<String>,
        now: Duration,
    ) -> Planned {
        let (destination, lane, lease_for) = runtime.with_settings(|destination| {
            let own = || {
                let order = destination.order_by.as_ref()?;
                order.key(&incoming.headers, &incoming.body)
            };
            let lane = order_key.or_else(own).map(|key| Lane {
                key,
                on_dead: destination.on_dead,
            });
            (destination.id.clone(), lane, destination.lease)
        });
        let may_lease = lane.is_none() && !self.is_stopping();
        let owner = self.owners.current(now).filter(|_| may_lease);
        let permit = owner.and_then(|_| runtime.first_lease(now));
        let first_lease = permit
            .as_ref()
            .and(owner)
            .map(|owner| FirstLease { owner, lease_for });
        let delivery = NewDelivery {
            destination,
            lane,
            first_lease,
        };
        (delivery, permit)
    }

    fn prepared(&self, source: &Arc<Source>, keyed: Keyed, planned: Vec<Planned>) -> Prepared {
        let raw_hash = keyed.raw_hash();
        let Keyed {
            incoming,
            identity,
            key,
            ..
        } = keyed;
        let (deliveries, permits) = planned.into_iter().unzip();
        let indexed = IndexedValue::of_body(&incoming.body, &source.route.indexed);
        let holds = !source.route.id_is_signed && source.route.same_body == SameBody::Hold;
        let scope = identity.scope.clone();
        let event = NewEvent {
            id: self.ids.next(incoming.received_at, key, &*self.parts.random),
            key,
            identity,
            source: incoming.source,
            event_type: incoming.event_type,
            received_at: incoming.received_at,
            signed_at: incoming.signed_at,
            secret_index: incoming.secret_index,
            raw_hash,
            content_hash: incoming.content_hash,
            headers: incoming.headers,
            body: incoming.body,
            batch: incoming.batch,
            ledger_until: incoming.received_at.plus(source.route.ledger_window),
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
    /// Prepares an event whose id belongs to other content, under a separate id. Its deliveries wait to be leased,
    /// because the permits reserved for them have been returned.
    pub(super) fn prepare_conflict(&self, source: Arc<Source>, event: NewEvent) -> Prepared {
        let content = event.content_hash.as_ref();
        let content = content.map_or(&event.raw_hash, |content| &content.hash);
        let identity = event.identity.of_conflict(content);
        let key = identity.key();
        let waiting = |delivery| NewDelivery {
            first_lease: None,
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

impl Source {
    pub(super) fn keyed(&self, mut incoming: IncomingEvent) -> Keyed {
        let event_id = std::mem::take(&mut incoming.event_id);
        let identity = Identity {
            scope: self.route.scope.clone(),
            event_id,
        };
        let mut keyed = Keyed::new(incoming, identity);
        keyed.aliases = self.aliases(&keyed);
        keyed
    }

    /// Its destinations may have due deliveries.
    pub(super) fn mark_dirty(&self) {
        for runtime in &self.destinations {
            runtime.mark_dirty();
        }
    }
}

//! Drafts of events, in which a law fills in the fields it is about.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::delivery::FirstLease;
use hapax_core::{
    BodyHash, ContentHash, EventIds, Headers, Identity, Lane, NewDelivery, NewEvent, OnDead, Owner, Random,
    SourceName, Timestamp,
};

use crate::clock::START;

// When the ledger may forget a draft's identity by default.
const LEDGER_DAYS: u64 = 30;

/// An event before it is accepted, with plausible defaults.
#[derive(Clone, Debug)]
pub struct Draft {
    event: NewEvent,
}

impl From<NewEvent> for Draft {
    fn from(event: NewEvent) -> Self {
        Self { event }
    }
}

impl Draft {
    /// An event with this identity, received at [`START`], for no destination.
    pub fn new(ids: &EventIds, random: &dyn Random, identity: Identity) -> Self {
        let key = identity.key();
        let source = SourceName::from(identity.scope.as_str());
        let body = Bytes::from(format!("{{\"id\":\"{}\"}}", identity.event_id));
        Self {
            event: NewEvent {
                id: ids.next(START, key, random),
                identity,
                key,
                source,
                event_type: Some("order.paid".to_owned()),
                received_at: START,
                signed_at: Some(START),
                secret_index: Some(0),
                raw_hash: BodyHash::of(&body),
                content_hash: None,
                headers: Headers::pack([("content-type", &b"application/json"[..])]),
                body,
                batch: None,
                ledger_until: START.plus(Duration::from_secs(LEDGER_DAYS * 86_400)),
                indexed: Vec::new(),
                deliveries: Vec::new(),
                claimed_body: None,
            },
        }
    }

    /// The finished event.
    pub fn build(self) -> NewEvent {
        self.event
    }

    /// Changes any other field.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut NewEvent)) -> Self {
        change(&mut self.event);
        self
    }

    #[must_use]
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        self.with(|event| {
            event.raw_hash = BodyHash::of(&body);
            event.body = body;
        })
    }

    #[must_use]
    pub fn content_hash(self, rule: &str, content: &[u8]) -> Self {
        let hash = ContentHash {
            rule: rule.to_owned(),
            hash: BodyHash::of(content),
        };
        self.with(|event| event.content_hash = Some(hash))
    }

    #[must_use]
    pub fn of_type(self, event_type: &str) -> Self {
        self.with(|event| event.event_type = Some(event_type.to_owned()))
    }

    #[must_use]
    pub fn from_source(self, source: &str) -> Self {
        self.with(|event| event.source = source.into())
    }

    #[must_use]
    pub fn received_at(self, received_at: Timestamp) -> Self {
        self.with(|event| event.received_at = received_at)
    }

    /// From a source that holds an event if its body arrived before under another id.
    #[must_use]
    pub fn holding_same_body(self) -> Self {
        self.with(|event| {
            event.claimed_body = Some((event.identity.scope.clone(), event.raw_hash));
        })
    }

    /// Adds a destination.
    #[must_use]
    pub fn to(self, destination: &str) -> Self {
        self.with(|event| event.deliveries.push(NewDelivery::to(destination)))
    }

    /// Adds a destination, in a lane.
    #[must_use]
    pub fn in_lane(self, destination: &str, key: &str, on_dead: OnDead) -> Self {
        let mut delivery = NewDelivery::to(destination);
        delivery.lane = Some(Lane {
            key: key.to_owned(),
            on_dead,
        });
        self.with(|event| event.deliveries.push(delivery))
    }

    /// Adds a destination, already leased.
    #[must_use]
    pub fn handed_to(self, destination: &str, lease_for: Duration) -> Self {
        let mut delivery = NewDelivery::to(destination);
        delivery.first_lease = Some(FirstLease {
            owner: Owner(7),
            lease_for,
        });
        self.with(|event| event.deliveries.push(delivery))
    }
}

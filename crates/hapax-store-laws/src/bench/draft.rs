//! Drafts of events, for laws to fill in what they are about.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::delivery::HandOver;
use hapax_core::{
    BodyHash, ContentHash, EventIds, Headers, Identity, Lane, NewDelivery, NewEvent, OnDead, Owner, Random,
    SourceName, Timestamp,
};

use crate::clock::START;

// When the ledger may forget a draft's identity, unless it says otherwise.
const LEDGER_DAYS: u64 = 30;

/// An event on its way in, with plausible defaults.
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

    /// Changes anything else.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut NewEvent)) -> Self {
        change(&mut self.event);
        self
    }

    /// With this body.
    #[must_use]
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        self.with(|event| {
            event.raw_hash = BodyHash::of(&body);
            event.body = body;
        })
    }

    /// With a content hash.
    #[must_use]
    pub fn content_hash(self, rule: &str, content: &[u8]) -> Self {
        let hash = ContentHash {
            rule: rule.to_owned(),
            hash: BodyHash::of(content),
        };
        self.with(|event| event.content_hash = Some(hash))
    }

    /// Of this type.
    #[must_use]
    pub fn of_type(self, event_type: &str) -> Self {
        self.with(|event| event.event_type = Some(event_type.to_owned()))
    }

    /// Received by this source.
    #[must_use]
    pub fn from_source(self, source: &str) -> Self {
        self.with(|event| event.source = source.into())
    }

    /// Received at this moment.
    #[must_use]
    pub fn received_at(self, received_at: Timestamp) -> Self {
        self.with(|event| event.received_at = received_at)
    }

    /// From a source that holds a body which came before under another id.
    #[must_use]
    pub fn holding_same_body(self) -> Self {
        self.with(|event| {
            event.claimed_body = Some((event.identity.scope.clone(), event.raw_hash));
        })
    }

    /// For one more destination.
    #[must_use]
    pub fn to(self, destination: &str) -> Self {
        self.with(|event| event.deliveries.push(NewDelivery::to(destination)))
    }

    /// For one more destination, in a lane.
    #[must_use]
    pub fn in_lane(self, destination: &str, key: &str, on_dead: OnDead) -> Self {
        let mut delivery = NewDelivery::to(destination);
        delivery.lane = Some(Lane {
            key: key.to_owned(),
            on_dead,
        });
        self.with(|event| event.deliveries.push(delivery))
    }

    /// For one more destination, already leased.
    #[must_use]
    pub fn handed_to(self, destination: &str, lease_for: Duration) -> Self {
        let mut delivery = NewDelivery::to(destination);
        delivery.hand_over = Some(HandOver {
            owner: Owner(7),
            lease_for,
        });
        self.with(|event| event.deliveries.push(delivery))
    }
}

//! What is reported of an arrival, to the observer and to the live tail.

use std::time::Duration;

use hapax_core::{BodyHash, Headers, NewEvent, SourceName, Timestamp};

use crate::engine::Inner;
use crate::incoming::{Accepted, IncomingEvent};
use crate::observe::{Notice, Observation};

/// The details of an arrival that are reported, whatever the result.
pub(super) struct Arrival<'a> {
    source: &'a SourceName,
    event_type: Option<&'a str>,
    received_at: Timestamp,
    raw_hash: Option<BodyHash>,
    headers: &'a Headers,
}

/// The same details of an event that is gone before its result is known.
pub(super) struct Came {
    source: SourceName,
    event_type: Option<String>,
    received_at: Timestamp,
    raw_hash: BodyHash,
    headers: Headers,
}

impl Came {
    pub(super) fn of(event: &NewEvent) -> Self {
        Self {
            source: event.source.clone(),
            event_type: event.event_type.clone(),
            received_at: event.received_at,
            raw_hash: event.raw_hash,
            headers: event.headers.clone(),
        }
    }

    pub(super) fn arrival(&self) -> Arrival<'_> {
        Arrival {
            source: &self.source,
            event_type: self.event_type.as_deref(),
            received_at: self.received_at,
            raw_hash: Some(self.raw_hash),
            headers: &self.headers,
        }
    }
}

impl<'a> Arrival<'a> {
    pub(super) fn of(event: &'a NewEvent) -> Self {
        Self {
            source: &event.source,
            event_type: event.event_type.as_deref(),
            received_at: event.received_at,
            raw_hash: Some(event.raw_hash),
            headers: &event.headers,
        }
    }

    /// A duplicate whose body was not read.
    pub(super) fn of_known_body(
        source: &'a SourceName,
        received_at: Timestamp,
        headers: &'a Headers,
    ) -> Self {
        Self {
            source,
            event_type: None,
            received_at,
            raw_hash: None,
            headers,
        }
    }

    /// A duplicate that the cache has recognised.
    pub(super) fn of_duplicate(incoming: &'a IncomingEvent) -> Self {
        Self {
            source: &incoming.source,
            event_type: incoming.event_type.as_deref(),
            received_at: incoming.received_at,
            raw_hash: None,
            headers: &incoming.headers,
        }
    }
}

impl Inner {
    /// Reports an arrival to the observer and to the live tail.
    pub(super) fn announce(&self, arrival: &Arrival<'_>, answer: &Accepted) {
        self.observe_arrival(arrival, answer);
        if self.tail.receiver_count() > 0 {
            let notice = Notice {
                id: answer.id(),
                source: arrival.source.clone(),
                event_id: answer.event_id().to_owned(),
                event_type: arrival.event_type.map(str::to_owned),
                received_at: arrival.received_at,
                status: answer.status(),
            };
            // It is not an error if no one is listening.
            let _ = self.tail.send(notice);
        }
    }

    /// Reports an arrival to the observer.
    pub(super) fn observe_arrival(&self, arrival: &Arrival<'_>, answer: &Accepted) {
        let age = match answer {
            Accepted::Duplicate { first_seen, .. } => arrival.received_at.since(*first_seen),
            Accepted::New { .. } | Accepted::Quarantined { .. } | Accepted::Conflict { .. } => Duration::ZERO,
        };
        self.observe(&Observation::Arrived {
            source: arrival.source,
            accepted: answer,
            age,
            raw_hash: arrival.raw_hash,
            headers: arrival.headers,
        });
    }
}

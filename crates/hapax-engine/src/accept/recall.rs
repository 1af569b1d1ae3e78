//! Duplicates that are recognised by their body alone, before anything in it is read.
//!
//! Where nothing but the body says which event a request is, equal bodies are the same event. So a body that was found to
//! be a duplicate is a duplicate of the same event whenever it arrives again, as long as the seen-cache knows that event.

use std::time::Duration;

use hapax_core::{EventId, Fingerprint, Headers, Key, SourceName, Timestamp};

use super::arrival::Arrival;
use crate::engine::Engine;
use crate::incoming::{Accepted, Refusal};
use crate::known_bodies::KnownBody;

/// A duplicate that was recognised by its body.
#[derive(Debug)]
pub struct Recalled {
    key: Key,
    /// The first event's.
    id: EventId,
    event_id: String,
    first_seen: Timestamp,
    /// When it was recognised.
    now: Duration,
}

impl Engine {
    /// Whether it makes sense to compute the fingerprint of a body.
    pub fn knows_bodies(&self) -> bool {
        self.0.bodies.has_any()
    }

    /// The event that a body with this fingerprint is a duplicate of, if it is known. Nothing is counted and nothing is
    /// promised until [`Engine::accept_recalled`].
    pub fn recall(&self, fingerprint: Fingerprint) -> Option<Recalled> {
        let inner = &self.0;
        let KnownBody { key, id, event_id } = inner.bodies.get(fingerprint)?;
        // A line of the live tail has the event's type, which is in the body.
        if inner.tail.receiver_count() > 0 {
            return None;
        }
        let (now, epoch) = (inner.elapsed(), inner.parts.store.connection_epoch());
        // The id may have been forgotten, and accepted again with another body.
        let first_seen = inner.seen.get(key, now, epoch, |known| {
            (known.id == id).then_some(known.first_seen)
        })??;
        Some(Recalled {
            key,
            id,
            event_id: event_id.as_str().to_owned(),
            first_seen,
            now,
        })
    }

    /// Answers a duplicate as [`Engine::accept`] does. Of its headers, only `traceparent` matters.
    ///
    /// # Errors
    /// A [`Refusal`]: the provider must retry.
    pub fn accept_recalled(
        &self,
        recalled: Recalled,
        source: &SourceName,
        received_at: Timestamp,
        headers: &Headers,
    ) -> Result<Accepted, Refusal> {
        let inner = &self.0;
        inner.admit(&inner.plan.load(), source, recalled.now)?;
        let first_seen = recalled.first_seen;
        let answer = Accepted::Duplicate {
            id: recalled.id,
            event_id: recalled.event_id,
            first_seen,
        };
        inner.gather.duplicate(recalled.key, first_seen, received_at);
        inner.observe_arrival(&Arrival::of_known_body(source, received_at, headers), &answer);
        Ok(answer)
    }
}

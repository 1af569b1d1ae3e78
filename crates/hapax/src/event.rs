//! The event that a claim is about.

#[cfg(feature = "verify")]
use hapax_core::EVENT_ID_BYTES_MAX;
use hapax_core::{BodyHash, Generation};

use crate::error::Invalid;

/// An event as its provider identified it.
///
/// ```
/// use hapax::Event;
///
/// let raw = br#"{"id":"evt_1","type":"invoice.paid"}"#;
/// let event = Event::new("stripe", "evt_1")?.with_body(raw);
/// # Ok::<(), hapax::Invalid>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    source: String,
    id: String,
    generation: Generation,
    body_hash: Option<BodyHash>,
    arrival: EventOrigin,
    transmission: Option<Transmission>,
}

/// A signed transmission, for a provider that does not sign the body. It stands for the first body that arrived with it,
/// so it is claimed together with the event: anyone who has seen one delivery could otherwise send another body with its
/// signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The event id of its row in the inbox. No provider's id begins with its prefix, because `%` is escaped there.
    pub row_id: String,
    /// The hash of the raw body that came with it.
    pub body_hash: BodyHash,
}

/// The beginning of [`Transmission::row_id`].
#[cfg(feature = "verify")]
const TRANSMISSION: &str = "%transmission:";

/// Why the event arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventOrigin {
    /// Its provider sent it.
    Delivered,
    /// An operator replayed it: this may happen again, so its row is kept longer.
    Replayed,
}

impl Event {
    /// The event `event_id` of `source`. The id must be the provider's own, never one that was generated on receipt.
    ///
    /// Neither may be empty, contain a NUL character or exceed [`crate::limits::NAME_BYTES_MAX`] bytes: with an empty
    /// id, all events would be the same, or each would be new.
    pub fn new(source: impl Into<String>, event_id: impl Into<String>) -> Result<Self, Invalid> {
        Ok(Self {
            source: Invalid::check("source", source.into())?,
            id: Invalid::check("event id", event_id.into())?,
            generation: Generation::default(),
            body_hash: None,
            arrival: EventOrigin::Delivered,
            transmission: None,
        })
    }

    /// Sets the transmission that brought the event with this raw body.
    #[cfg(feature = "verify")]
    pub(crate) fn sent_in(mut self, transmission: &str, raw: &[u8]) -> Result<Self, Invalid> {
        let row_id = match format!("{TRANSMISSION}{transmission}") {
            long if long.len() > EVENT_ID_BYTES_MAX => {
                format!("{TRANSMISSION}sha256:{}", BodyHash::of(transmission.as_bytes()))
            }
            row_id => row_id,
        };
        self.transmission = Some(Transmission {
            row_id: Invalid::check("event id", row_id)?,
            body_hash: BodyHash::of(raw),
        });
        Ok(self)
    }

    /// Adds the raw body, so that a different body under the same id is detected.
    #[must_use]
    pub fn with_body(self, raw: &[u8]) -> Self {
        self.with_body_hash(BodyHash::of(raw))
    }

    /// Adds the hash of the raw body, if it is already known.
    #[must_use]
    pub fn with_body_hash(mut self, hash: BodyHash) -> Self {
        self.body_hash = Some(hash);
        self
    }

    /// Sets a generation other than 0: the event deliberately takes effect once more.
    #[must_use]
    pub fn in_generation(mut self, generation: u32) -> Self {
        self.generation = Generation(generation);
        self
    }

    /// Marks the event as replayed by an operator: if it was applied before, the retention of its row is extended.
    #[must_use]
    pub fn replayed(mut self) -> Self {
        self.arrival = EventOrigin::Replayed;
        self
    }

    /// The scope in which its id is unique: the source's name, or a scope that several sources share.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The provider's id.
    pub fn event_id(&self) -> &str {
        &self.id
    }

    /// How often the event was deliberately accepted again.
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// The hash of its raw body, if known.
    pub const fn body_hash(&self) -> Option<BodyHash> {
        self.body_hash
    }

    /// The transmission that is claimed together with the event, for a provider that does not sign the body.
    pub const fn transmission(&self) -> Option<&Transmission> {
        self.transmission.as_ref()
    }

    pub(crate) const fn arrival(&self) -> EventOrigin {
        self.arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InvalidProblem;
    use crate::limits::NAME_BYTES_MAX;

    #[test]
    fn an_id_that_could_not_tell_events_apart_is_refused() {
        let problem = |id: &str| Event::new("stripe", id).unwrap_err().problem;
        assert_eq!(problem(""), InvalidProblem::Empty);
        assert_eq!(problem("evt\0"), InvalidProblem::Nul);
        assert_eq!(problem(&"x".repeat(NAME_BYTES_MAX + 1)), InvalidProblem::TooLong);
        assert!(Event::new("stripe", "x".repeat(NAME_BYTES_MAX)).is_ok());
        assert!(Event::new("", "evt_1").is_err());
    }
}

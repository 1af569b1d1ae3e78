//! What the configuration means to the engine: which source goes where, and how each destination
//! wants to be treated. Swapped whole on a reload.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Backoff, DestinationId, Headers, OnDead, Scope, SourceName};

use crate::Rate;

/// The whole of it.
#[derive(Clone, Debug, Default)]
pub struct Routing {
    /// For each source, where its events go.
    pub sources: HashMap<SourceName, Route>,
    /// For each destination, how it is treated.
    pub destinations: HashMap<DestinationId, Destination>,
}

/// A source.
#[derive(Clone, Debug)]
pub struct Route {
    /// Where its ids are unique.
    pub scope: Scope,
    /// Which destinations get its events.
    pub deliver_to: Vec<DestinationId>,
    /// How long the ledger remembers an id.
    pub ledger_window: Duration,
    /// How long payloads are kept.
    pub payload_retention: Duration,
    /// How long the payload of a dead letter is kept.
    pub dead_retention: Duration,
    /// At most this many requests.
    pub rate: Option<Rate>,
    /// Whether the signature covers the id.
    pub id_is_signed: bool,
    /// What the same body under another id is, where the signature does not cover the id.
    pub same_body: SameBody,
    /// JSON pointers into bodies whose values are indexed, so that a search finds them among all events.
    pub indexed: Vec<String>,
    /// What to do with a known id and a different body.
    pub on_conflict: OnConflict,
}

/// What a body is that came before under another id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameBody {
    /// An event like any other: it runs, and is flagged some time after.
    #[default]
    Flag,
    /// Held: it is stored, and an operator releases or discards it.
    Hold,
}

impl SameBody {
    /// As it is configured.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Hold => "hold",
        }
    }
}

/// What to do with a known id and a different body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// Store it as a conflict; it takes no effect until an operator releases it.
    #[default]
    Keep,
    /// Accept it as a new event, under an id made of the known one and its content.
    Accept,
}

/// A destination.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Its stable id.
    pub id: DestinationId,
    /// The types it wants; empty means all.
    pub events: Vec<Pattern>,
    /// At most this many attempts at once, in this process.
    pub concurrency: u32,
    /// At most this many attempts, in this process.
    pub rate: Option<Rate>,
    /// After this many attempts a delivery is dead.
    pub attempts_max: u32,
    /// The wait between attempts.
    pub backoff: Backoff,
    /// How long a lease lasts unless extended.
    pub lease: Duration,
    /// After this long an attempt is over, whatever it does.
    pub deadline: Duration,
    /// One at a time, in order of acceptance, for each key.
    pub order_by: Option<Arc<dyn OrderBy>>,
    /// What a dead delivery does to those behind it.
    pub on_dead: OnDead,
    /// How long the destination itself knows what it has applied, and so applies nothing twice; none where that is not
    /// its promise.
    pub remembers: Option<Duration>,
}

impl Destination {
    /// Whether it wants events of this type.
    pub fn wants(&self, event_type: Option<&str>) -> bool {
        self.events.is_empty() || self.events.iter().any(|pattern| pattern.fits(event_type))
    }
}

/// Reads the key by which a destination keeps order.
pub trait OrderBy: fmt::Debug + Send + Sync + 'static {
    /// The key, or none: an event without one has no order to keep.
    fn key(&self, headers: &Headers, body: &[u8]) -> Option<String>;
}

/// A type, exact or with a trailing `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern such as `invoice.*`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether a type fits. An event without a type fits `*` only.
    pub fn fits(&self, event_type: Option<&str>) -> bool {
        match (self.0.strip_suffix('*'), event_type) {
            (Some(prefix), event_type) => event_type.unwrap_or_default().starts_with(prefix),
            (None, Some(event_type)) => event_type == self.0,
            (None, None) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_exactly_or_by_prefix() {
        assert!(Pattern::new("invoice.*").fits(Some("invoice.paid")));
        assert!(!Pattern::new("invoice.*").fits(Some("charge.paid")));
        assert!(Pattern::new("charge.refunded").fits(Some("charge.refunded")));
        assert!(!Pattern::new("charge.refunded").fits(Some("charge.refunded.late")));
        assert!(Pattern::new("*").fits(None));
        assert!(!Pattern::new("invoice.*").fits(None));
    }
}

//! The configuration as the engine sees it: which source goes where, and how each destination is served. Swapped as a
//! whole on a reload.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Backoff, DestinationId, Headers, OnDead, Scope, SourceName};

use crate::rate::Rate;

#[derive(Clone, Debug, Default)]
pub struct Routing {
    /// Where the events of each source go.
    pub sources: HashMap<SourceName, Route>,
    /// How each destination is served.
    pub destinations: HashMap<DestinationId, Destination>,
}

#[derive(Clone, Debug)]
pub struct Route {
    /// The scope in which its ids are unique.
    pub scope: Scope,
    /// The destinations that get its events.
    pub deliver_to: Vec<DestinationId>,
    /// How long the ledger remembers an id.
    pub ledger_window: Duration,
    /// How long payloads are stored.
    pub payload_retention: Duration,
    /// How long the payload of a dead letter is stored.
    pub dead_retention: Duration,
    /// Maximum rate of requests.
    pub rate: Option<Rate>,
    /// Whether the signature covers the id.
    pub id_is_signed: bool,
    /// How to treat a known body under another id, if the signature does not cover the id.
    pub same_body: SameBody,
    /// JSON pointers to body fields whose values are indexed, so that a search finds them among all events.
    pub indexed: Vec<String>,
    pub on_conflict: OnConflict,
}

/// How to treat a body that arrived before under another id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameBody {
    /// Like any other event: it runs, and is flagged later.
    #[default]
    Flag,
    /// Held: it is stored until an operator releases or discards it.
    Hold,
}

impl SameBody {
    /// The value in the configuration.
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

#[derive(Clone, Debug)]
pub struct Destination {
    pub id: DestinationId,
    /// The event types it wants; empty means all.
    pub events: Vec<Pattern>,
    /// Maximum concurrent attempts, per process.
    pub concurrency: u32,
    /// Maximum rate of attempts, per process.
    pub rate: Option<Rate>,
    /// After this many attempts a delivery is dead.
    pub attempts_max: u32,
    /// The wait between attempts.
    pub backoff: Backoff,
    /// How long a lease lasts unless it is renewed.
    pub lease: Duration,
    /// An attempt is aborted after this long.
    pub deadline: Duration,
    /// The key within which deliveries run one at a time, in the order of acceptance.
    pub order_by: Option<Arc<dyn OrderBy>>,
    /// What a dead delivery does to those behind it in its lane.
    pub on_dead: OnDead,
    /// How long the destination itself remembers what it applied, so that it applies nothing twice; none if it does not
    /// promise that.
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

/// An event type, exact or with a trailing `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern such as `invoice.*`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Whether a type matches. An event without a type matches only `*`.
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

//! A claim: the row that says an event was applied, and what is found where there is one already.

use hapax_core::BodyHash;

use super::Inbox;
use crate::event::{Event, EventOrigin};

/// What a claim found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "only the first may be applied"]
pub enum Claim {
    /// No one had claimed it: it is this transaction's to apply.
    First,
    /// It was applied before.
    Again,
    /// Another body was applied under this id before.
    OtherBody,
}

/// The row to write.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Mark {
    pub(crate) source: String,
    pub(crate) event_id: String,
    pub(crate) consumer: String,
    pub(crate) generation: u32,
    pub(crate) body_hash: Option<BodyHash>,
    pub(crate) retention_seconds: u32,
    pub(crate) arrival: EventOrigin,
}

impl Mark {
    pub(crate) fn new(inbox: &Inbox, event: &Event) -> Self {
        Self {
            source: event.source().to_owned(),
            event_id: event.event_id().to_owned(),
            consumer: inbox.consumer.clone(),
            generation: event.generation().0,
            body_hash: event.body_hash(),
            // A hundred years fit.
            retention_seconds: u32::try_from(inbox.retention.as_secs()).unwrap_or(u32::MAX),
            arrival: event.arrival(),
        }
    }

    /// What the row that was there first says about this one. A hash that is not known tells nothing.
    pub(crate) fn against(&self, stored: Option<&[u8]>) -> Claim {
        match (self.body_hash, stored) {
            (Some(hash), Some(stored)) if hash.as_bytes() != stored => Claim::OtherBody,
            (Some(_) | None, Some(_) | None) => Claim::Again,
        }
    }

    /// Whether a row that is found is to be kept as long again.
    pub(crate) const fn extends(&self) -> bool {
        match self.arrival {
            EventOrigin::Delivered => false,
            EventOrigin::Replayed => true,
        }
    }
}

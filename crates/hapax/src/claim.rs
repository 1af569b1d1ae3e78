//! A claim: the row that records an applied event, and the result if the row exists already.

use std::time::Duration;

use hapax_core::BodyHash;

use crate::event::{Event, EventOrigin};

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "only the first claim may be applied"]
pub enum Claim {
    /// The event was not claimed before: this transaction applies it.
    First,
    /// It was applied before.
    Again,
    /// A different body was applied under this id before.
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
    /// A row to claim before: the event may be applied only if that row has the same body.
    pub(crate) bound: Option<Box<Mark>>,
}

impl Mark {
    pub(crate) fn new(consumer: &str, retention: Duration, event: &Event) -> Self {
        let mark = Self {
            source: event.source().to_owned(),
            event_id: event.event_id().to_owned(),
            consumer: consumer.to_owned(),
            generation: event.generation().0,
            body_hash: event.body_hash(),
            retention_seconds: retention_seconds(retention),
            arrival: event.arrival(),
            bound: None,
        };
        let bound = event.transmission().map(|transmission| {
            Box::new(Self {
                event_id: transmission.row_id.clone(),
                body_hash: Some(transmission.body_hash),
                ..mark.clone()
            })
        });
        Self { bound, ..mark }
    }

    /// Compares this claim with the existing row. An unknown hash never conflicts.
    pub(crate) fn against(&self, stored: Option<&[u8]>) -> Claim {
        against(self.body_hash, stored)
    }

    /// Whether the retention of an existing row is extended.
    pub(crate) const fn extends(&self) -> bool {
        match self.arrival {
            EventOrigin::Delivered => false,
            EventOrigin::Replayed => true,
        }
    }
}

/// Compares the body of an event with that of the existing row. An unknown hash never conflicts.
pub(crate) fn against(body_hash: Option<BodyHash>, stored: Option<&[u8]>) -> Claim {
    match (body_hash, stored) {
        (Some(hash), Some(stored)) if hash.as_bytes() != stored => Claim::OtherBody,
        (Some(_) | None, Some(_) | None) => Claim::Again,
    }
}

/// How long a row is kept: enough for a hundred years.
pub(crate) fn retention_seconds(retention: Duration) -> u32 {
    u32::try_from(retention.as_secs()).unwrap_or(u32::MAX)
}

//! Observations for metrics, logs and the live tail. Observing never blocks the engine.

use std::time::Duration;

use hapax_core::store::{AuditHead, EventRecord, Purged, Rescued};
use hapax_core::{
    Attempt, AttemptOutcome, BodyHash, DestinationId, EventId, Headers, Leased, SourceName, Timestamp,
};
use serde::Serialize;

use crate::incoming::Accepted;

/// Receives observations. Implementations return immediately.
pub trait Observer: Send + Sync + 'static {
    fn observe(&self, observation: &Observation<'_>);
}

/// Something that happened.
#[derive(Debug)]
pub enum Observation<'a> {
    /// An arrival was answered.
    Arrived {
        source: &'a SourceName,
        accepted: &'a Accepted,
        /// The time since the first event, for a duplicate; zero for the first.
        age: Duration,
        /// SHA-256 of its raw bytes; none for a duplicate that was recognised without it.
        raw_hash: Option<BodyHash>,
        /// Its headers, as they arrived; only `traceparent`, if it was recognised by its body alone.
        headers: &'a Headers,
    },
    StoreWrite {
        events: usize,
        took: Duration,
    },
    /// An attempt ended.
    Attempted {
        delivery: &'a Leased,
        attempt: &'a Attempt,
        took: Duration,
        /// The delivery's state after the attempt.
        outcome: AttemptOutcome,
    },
    /// A lease was lost while the attempt ran; the attempt was aborted and nothing was written.
    LeaseLost {
        /// The delivery. Its body may be gone by now.
        delivery: &'a Leased,
    },
    /// An attempt was released: the process is stopping, it cannot reach the store, or the destination must not be
    /// called now.
    GivenBack {
        delivery: &'a Leased,
    },
    /// A delivery whose lease had expired was reclaimed.
    Rescued {
        /// The delivery, and how often it was lost.
        rescued: &'a Rescued,
        /// Its event, if the store could be asked.
        record: Option<&'a EventRecord>,
    },
    /// A breaker opened or closed.
    Breaker {
        destination: &'a DestinationId,
        /// How long it stays open, if it opened.
        open_for: Option<Duration>,
    },
    /// A store operation failed and will be retried.
    StoreFailed {
        /// The operation that failed.
        during: &'static str,
        error: &'a hapax_core::store::Error,
    },
    /// This process could not report to the store for too long: its leases there are released.
    Unreported {
        /// Attempts that were aborted.
        attempts: usize,
    },
    /// Rows were deleted because their window had passed.
    Purged(Purged),
    /// Purging is on hold because the clocks disagree.
    PurgeHeld {
        disagreement: Duration,
    },
    /// An entry was added to the audit trail.
    AuditHead {
        /// The number and hash of the last entry.
        head: AuditHead,
    },
    /// Duplicates that could not be counted because too many ids repeat at once.
    DuplicatesUncounted {
        duplicates: u64,
    },
}

/// Ignores every observation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&self, _: &Observation<'_>) {}
}

/// One line of the live tail.
#[derive(Clone, Debug, Serialize)]
pub struct Notice {
    /// The Hapax id (the first event's, for a duplicate).
    pub id: EventId,
    pub source: SourceName,
    /// The provider's id.
    pub event_id: String,
    /// The provider's event type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    pub received_at: Timestamp,
    /// `accepted`, `duplicate` or `conflict`.
    pub status: &'static str,
}

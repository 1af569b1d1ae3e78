//! What the engine tells the outside: for metrics, logs and the live tail. Never blocks it.

use std::time::Duration;

use hapax_core::store::{AuditHead, EventRecord, Purged, Rescued};
use hapax_core::{
    Attempt, AttemptOutcome, BodyHash, DestinationId, EventId, Headers, Leased, SourceName, Timestamp,
};
use serde::Serialize;

use crate::accept::Accepted;

/// Listens. Implementations return at once.
pub trait Observer: Send + Sync + 'static {
    /// Something happened.
    fn observe(&self, observation: &Observation<'_>);
}

/// Something that happened.
#[derive(Debug)]
pub enum Observation<'a> {
    /// An event was answered for.
    Arrived {
        /// The source.
        source: &'a SourceName,
        /// The answer.
        accepted: &'a Accepted,
        /// How long after the first this copy came; zero for the first.
        age: Duration,
        /// SHA-256 of its raw bytes.
        raw_hash: BodyHash,
        /// Its headers, as they arrived.
        headers: &'a Headers,
    },
    /// A batch was written.
    StoreWrite {
        /// How many events.
        events: usize,
        /// How long it took.
        took: Duration,
    },
    /// An attempt is over.
    Attempted {
        /// What was tried.
        delivery: &'a Leased,
        /// What happened.
        attempt: &'a Attempt,
        /// How long it took.
        took: Duration,
        /// What follows.
        outcome: AttemptOutcome,
    },
    /// A lease was lost while the attempt ran: the attempt was aborted and nothing was written.
    LeaseLost {
        /// What was tried. Its body may be gone by now.
        delivery: &'a Leased,
    },
    /// An attempt was given back: the process stops, cannot reach the store, or the destination is not to be called now.
    GivenBack {
        /// What was not tried.
        delivery: &'a Leased,
    },
    /// A delivery whose lease had expired was taken back.
    Rescued {
        /// Which, and how often it was lost.
        rescued: &'a Rescued,
        /// Its event, where the store could be asked.
        record: Option<&'a EventRecord>,
    },
    /// A breaker opened or closed.
    Breaker {
        /// Whose.
        destination: &'a DestinationId,
        /// For how long, if it opened.
        open_for: Option<Duration>,
    },
    /// The store failed at something that will be tried again.
    StoreFailed {
        /// At what.
        during: &'static str,
        /// The error.
        error: &'a hapax_core::store::Error,
    },
    /// The store could not be told for too long that this process lives: what it had leased there is given back.
    Unreported {
        /// Attempts that were cut short.
        attempts: usize,
    },
    /// Something was deleted because its window had passed.
    Purged(Purged),
    /// Purging waits because the clocks disagree.
    PurgeHeld {
        /// By how much.
        disagreement: Duration,
    },
    /// An entry was added to the audit trail: where the trail ends now.
    AuditHead {
        /// The last entry's number and hash.
        head: AuditHead,
    },
    /// Copies that could not be counted because too many ids repeat at once.
    DuplicatesUncounted {
        /// How many.
        copies: u64,
    },
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&self, _: &Observation<'_>) {}
}

/// One line of the live tail.
#[derive(Clone, Debug, Serialize)]
pub struct Notice {
    /// Our id (of the first, for a copy).
    pub id: EventId,
    /// The source.
    pub source: SourceName,
    /// The sender's id.
    pub event_id: String,
    /// The sender's type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// `accepted`, `duplicate` or `conflict`.
    pub status: &'static str,
}

//! The history: every answer, lease, attempt, effect and fault, in order.
//!
//! It is written by the parts that observe these facts (the door, the store, the destinations, the faults), never by
//! the engine, and is all that the checker reads.

mod print;

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::ReplayJobId;
use hapax_core::{DestinationId, EventId, Generation, IdempotencyKey, Token};
use parking_lot::Mutex;

use crate::executor::{Executor, Process};

/// The shared log. Clones share it.
#[derive(Clone)]
pub struct History {
    executor: Executor,
    entries: Arc<Mutex<Vec<Entry>>>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, in virtual time.
    pub at: Duration,
    pub fact: Fact,
}

/// One event on its way to one destination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delivery {
    /// The sender's id.
    pub event: String,
    /// The Hapax id.
    pub id: EventId,
    pub destination: DestinationId,
}

/// The answer to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// 2xx: new.
    Accepted(EventId),
    /// 2xx: known, under this id.
    Duplicate(EventId),
    /// 2xx: known, under this id, with another body.
    Conflict(EventId),
    /// 503: retry.
    Refused,
}

/// The end of an attempt, as reported to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    Completed,
    /// Retry later.
    Retry,
    /// Never retried.
    Dead,
    Released,
}

/// A fault that was injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A process was killed.
    Killed(Process),
    /// A process was told to stop, and stopped.
    ShutDown(Process),
    /// A process was suspended.
    Paused(Process),
    /// It resumed.
    Resumed(Process),
    /// A message between a process and the store was lost, or answered with an error.
    MessageLost(Process),
    /// A process and the store cannot reach each other.
    CutOff(Process),
    /// They can reach each other again.
    Reconnected(Process),
    StoreDown,
    StoreUp,
    /// The store's clock was stepped by this many milliseconds.
    StoreClockStepped(i64),
    /// A process's clock was stepped by this many milliseconds.
    ClockStepped(Process, i64),
}

/// The facts that the checker reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// How long every lease lasts.
    LeasesLast(Duration),
    Started(Process),
    /// A process answered a sender.
    Answered {
        by: Process,
        /// The sender's id.
        event: String,
        told: Told,
    },
    /// A sender was told that this event is done.
    Processed(String),
    /// The store stored a new event.
    Stored {
        /// The sender's id.
        event: String,
        /// The Hapax id.
        id: EventId,
        /// Its lane, if a destination keeps order.
        lane: Option<String>,
        to: Vec<DestinationId>,
    },
    /// The store leased a delivery.
    Leased {
        /// The new holder.
        by: Process,
        delivery: Delivery,
        token: Token,
    },
    /// The store reclaimed a delivery whose lease had ended.
    Rescued {
        delivery: Delivery,
        /// Leases lost so far.
        lost: u32,
    },
    /// The store recorded the end of an attempt.
    Finished {
        /// The reporting process.
        by: Process,
        delivery: Delivery,
        /// The token it presented.
        token: Token,
        verdict: AttemptEnd,
    },
    /// The store refused to record it: the lease was lost.
    Late {
        /// The reporting process.
        by: Process,
        delivery: Delivery,
        /// The token it presented.
        token: Token,
    },
    /// An operator asked a process for something.
    Asked(String),
    /// An operator asked a process to let every event take effect once more.
    Forced(Process),
    /// An operator replayed a dead letter.
    Replayed(EventId),
    /// The store requeued a finished delivery.
    PutBack {
        delivery: Delivery,
        /// The bulk replay that requested it, if any.
        job: Option<ReplayJobId>,
    },
    /// From here on, no more faults.
    Calm,
    /// An attempt reached its destination.
    Attempted {
        delivery: Delivery,
        generation: Generation,
        /// The idempotency key it carried.
        key: IdempotencyKey,
    },
    /// The destination applied the event.
    Effect {
        delivery: Delivery,
        generation: Generation,
    },
    /// A fault was injected.
    Fault(Fault),
    /// The run ended.
    Ended {
        /// Deliveries that are neither done nor dead, and unfinished bulk replays.
        unfinished: u64,
        /// Whether every sender got its 2xx and every delivery ended in time.
        settled: Settled,
    },
}

/// Whether a run settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing was left to do.
    Yes,
    /// Time ran out first.
    No,
}

impl History {
    /// An empty history on the executor's time.
    pub fn new(executor: Executor) -> Self {
        Self {
            executor,
            entries: Arc::default(),
        }
    }

    /// Records a fact, now.
    pub fn note(&self, fact: Fact) {
        let at = self.executor.now();
        self.entries.lock().push(Entry { at, fact });
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().clone()
    }
}

impl Told {
    /// The id that a 2xx named.
    pub const fn id(self) -> Option<EventId> {
        match self {
            Self::Accepted(id) | Self::Duplicate(id) | Self::Conflict(id) => Some(id),
            Self::Refused => None,
        }
    }
}

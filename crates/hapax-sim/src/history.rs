//! The history: every answer given, every lease, every attempt, every effect and every fault, in order.
//!
//! It is written by those who see it happen (the door, the store, the destinations, the faults), never by the engine,
//! and is all that the checker reads.

mod print;

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::ReplayJobId;
use hapax_core::{DestinationId, EventId, Generation, IdempotencyKey, Token};
use parking_lot::Mutex;

use crate::executor::{Executor, Process};

/// Where everyone writes. Clones share it.
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
    /// What.
    pub fact: Fact,
}

/// One event on its way to one destination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delivery {
    /// The sender's id.
    pub event: String,
    /// Ours.
    pub id: EventId,
    /// Where to.
    pub destination: DestinationId,
}

/// What a sender was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// 2xx: it is new.
    Accepted(EventId),
    /// 2xx: it was here before, under this id.
    Duplicate(EventId),
    /// 2xx: it was here before, under this id, with another body.
    Conflict(EventId),
    /// 503: come again.
    Refused,
}

/// What an attempt came to, as the store was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// Done.
    Completed,
    /// Try again later.
    Retry,
    /// Never again.
    Dead,
    /// Given back.
    Released,
}

/// A fault that was injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A process died.
    Killed(Process),
    /// A process was told to stop, and stopped.
    ShutDown(Process),
    /// A process stands still.
    Paused(Process),
    /// It goes on.
    Resumed(Process),
    /// A message between a process and the store was lost, or came back as an error.
    MessageLost(Process),
    /// The store does not hear a process, nor it the store.
    CutOff(Process),
    /// They hear each other again.
    Reconnected(Process),
    /// The store answers no one.
    StoreDown,
    /// It answers again.
    StoreUp,
    /// The store's clock was set, by this many milliseconds.
    StoreClockStepped(i64),
    /// The clock of a process was set, by this many milliseconds.
    ClockStepped(Process, i64),
}

/// Everything the checker knows about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// How long every lease lasts.
    LeasesLast(Duration),
    /// A process has started.
    Started(Process),
    /// A process answered a sender.
    Answered {
        /// Who answered.
        by: Process,
        /// The sender's id.
        event: String,
        /// What it was told.
        told: Told,
    },
    /// A sender was told that everything about this event is done.
    Processed(String),
    /// The store has stored a new event.
    Stored {
        /// The sender's id.
        event: String,
        /// Ours.
        id: EventId,
        /// Its lane, where a destination keeps order.
        lane: Option<String>,
        /// Where it goes.
        to: Vec<DestinationId>,
    },
    /// The store leased a delivery.
    Leased {
        /// To whom.
        by: Process,
        /// Which.
        delivery: Delivery,
        /// Under which token.
        token: Token,
    },
    /// The store took a delivery back whose lease had ended.
    Rescued {
        /// Which.
        delivery: Delivery,
        /// How often by now.
        lost: u32,
    },
    /// The store recorded the end of an attempt.
    Finished {
        /// Who told it.
        by: Process,
        /// Which.
        delivery: Delivery,
        /// The token that was shown.
        token: Token,
        /// What it came to.
        verdict: AttemptEnd,
    },
    /// The store refused to: the lease was lost.
    Late {
        /// Who told it.
        by: Process,
        /// Which.
        delivery: Delivery,
        /// The token that was shown.
        token: Token,
    },
    /// An operator asked someone for something.
    Asked(String),
    /// An operator asked someone to let every event take effect once more.
    Forced(Process),
    /// An operator put a dead delivery back to work.
    Replayed(EventId),
    /// The store put a finished delivery back to work.
    PutBack {
        /// Which.
        delivery: Delivery,
        /// The bulk replay that asked for it, if one did.
        job: Option<ReplayJobId>,
    },
    /// From now on nothing is broken any more.
    Calm,
    /// An attempt reached its destination.
    Attempted {
        /// Which.
        delivery: Delivery,
        /// Of which generation.
        generation: Generation,
        /// The key it carried.
        key: IdempotencyKey,
    },
    /// The destination did what the event asks for.
    Effect {
        /// Which.
        delivery: Delivery,
        /// Of which generation.
        generation: Generation,
    },
    /// Something was broken on purpose.
    Fault(Fault),
    /// The run is over.
    Ended {
        /// Deliveries that are neither done nor dead, and bulk replays that are not over.
        unfinished: u64,
        /// Whether every sender had its 2xx and every delivery its end before the time was up.
        settled: Settled,
    },
}

/// Whether a run came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Nothing was left to do.
    Yes,
    /// The time was up first.
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

    /// Notes what happened, now.
    pub fn note(&self, fact: Fact) {
        let at = self.executor.now();
        self.entries.lock().push(Entry { at, fact });
    }

    /// All of it.
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

//! Deliveries: one event on its way to one destination, and what can become of it.
//!
//! ```text
//! work:     pending ──lease──► running ──failed──► retrying ──due──► (lease)
//!              ▲                  └─lease expired──► pending, lost + 1, new token
//! outcome:  completed | dead | discarded      (a replay puts work back)
//! ```

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{DestinationId, EventId, Generation, IdempotencyKey, StoredEvent, Timestamp};

/// Fences a lease. Tokens come from one store-wide increasing sequence: every lease, rescue and
/// replay takes a new one, so a late write of an earlier holder can never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub u64);

/// Who holds a lease: a fresh random number for each start of a process, never a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(pub u64);

/// What a worker must show to write about a delivery it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The event.
    pub event: EventId,
    /// The destination.
    pub destination: DestinationId,
    /// The lease's token.
    pub token: Token,
}

/// A delivery to create when an event is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// Where to.
    pub destination: DestinationId,
    /// Its lane, where the destination keeps order.
    pub lane: Option<Lane>,
    /// Accept it already leased, for a local worker that is free to run it at once.
    /// Never together with a lane.
    pub hand_over: Option<HandOver>,
}

impl NewDelivery {
    /// A delivery without order, to be leased later.
    pub fn to(destination: impl Into<DestinationId>) -> Self {
        Self {
            destination: destination.into(),
            lane: None,
            hand_over: None,
        }
    }
}

/// The terms on which a delivery is handed straight to a local worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandOver {
    /// Who runs it.
    pub owner: Owner,
    /// For how long.
    pub lease_for: Duration,
}

/// Deliveries of one destination that run one at a time, in order of acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// What `order_by` read from the event.
    pub key: String,
    /// What a dead head does to the ones behind it.
    pub on_dead: OnDead,
}

/// What a dead delivery does to its lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDead {
    /// The lane waits until the delivery is replayed or discarded.
    #[default]
    Hold,
    /// The next one runs.
    Skip,
}

/// A delivery that this process may run, until the lease ends.
#[derive(Clone, Debug)]
pub struct Leased {
    /// The event with its payload.
    pub event: StoredEvent,
    /// Where to.
    pub destination: DestinationId,
    /// Fences every later write.
    pub token: Token,
    /// When the lease ends unless extended (the store's clock).
    pub lease_until: Timestamp,
    /// Which generation of the identity.
    pub generation: Generation,
    /// The same for every attempt.
    pub idempotency_key: IdempotencyKey,
    /// Number of this attempt, counted from 1.
    pub attempt: u32,
    /// How many leases of it expired.
    pub lost: u32,
    /// Its lane, where the destination keeps order.
    pub lane: Option<Lane>,
}

impl Leased {
    /// What to show when writing about it.
    pub fn hold(&self) -> Hold {
        Hold {
            event: self.event.id,
            destination: self.destination.clone(),
            token: self.token,
        }
    }
}

/// One try, as it is kept for people to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub duration_ms: u32,
    /// The HTTP status or the exit code.
    pub status: Option<i32>,
    /// The beginning of what the destination answered.
    pub excerpt: String,
    /// What went wrong, if anything did.
    pub error: Option<ErrorClass>,
    /// The error in words.
    pub message: Option<String>,
}

/// Kinds of failure, coarse enough to group dead letters by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// No connection could be made.
    Connect,
    /// No answer in time.
    Timeout,
    /// An HTTP status that is not 2xx.
    Status,
    /// The destination said never again (410, or `hapax-retry: no`).
    Refused,
    /// The connection broke during the exchange.
    Protocol,
    /// The address is one that may not be called.
    Blocked,
    /// A command ended with another code than 0, or could not be started.
    Exit,
    /// The database of a `sql` destination did not take a statement.
    Sql,
    /// Its lease expired three times: the process died while it ran.
    Lost,
    /// The process is shutting down.
    Shutdown,
    /// Its event's body came before under another id, and its source holds such events: it was never tried, and an
    /// operator releases or discards it.
    SameBody,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [Self; 11] = [
        Self::Connect,
        Self::Timeout,
        Self::Status,
        Self::Refused,
        Self::Protocol,
        Self::Blocked,
        Self::Exit,
        Self::Sql,
        Self::Lost,
        Self::Shutdown,
        Self::SameBody,
    ];

    /// As it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Status => "status",
            Self::Refused => "refused",
            Self::Protocol => "protocol",
            Self::Blocked => "blocked",
            Self::Exit => "exit",
            Self::Sql => "sql",
            Self::Lost => "lost",
            Self::Shutdown => "shutdown",
            Self::SameBody => "same_body",
        }
    }

    /// The class written as `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What follows from an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// Done.
    Completed,
    /// Try again, not before this long from now.
    Retry {
        /// The wait.
        after: Duration,
    },
    /// Never try again by itself.
    Dead {
        /// Why.
        reason: ErrorClass,
    },
    /// Give it back untried: the attempt does not count.
    Release,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Waits for its first attempt, or behind another in its lane.
    Pending,
    /// Leased.
    Running,
    /// Failed, waits for its next attempt.
    Retrying,
    /// Done.
    Completed,
    /// Given up.
    Dead,
    /// Given up, and an operator said that it does not matter.
    Discarded,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::Retrying,
        Self::Completed,
        Self::Dead,
        Self::Discarded,
    ];

    /// As it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Completed => "completed",
            Self::Dead => "dead",
            Self::Discarded => "discarded",
        }
    }

    /// The state written as `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// The state of a delivery that waits after this many counted attempts.
    pub const fn waiting(attempts: u32) -> Self {
        if attempts == 0 {
            Self::Pending
        } else {
            Self::Retrying
        }
    }

    /// Whether work remains.
    pub const fn is_unfinished(self) -> bool {
        match self {
            Self::Pending | Self::Running | Self::Retrying => true,
            Self::Completed | Self::Dead | Self::Discarded => false,
        }
    }
}

impl fmt::Display for DeliveryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

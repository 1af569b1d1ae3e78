//! Deliveries: one event for one destination, and the states it passes through.
//!
//! ```text
//! work:     pending ──lease──► running ──failed──► retrying ──due──► (lease)
//!              ▲                  └─lease expired──► pending, lost + 1, new token
//! outcome:  completed | dead | discarded      (a replay makes it pending again)
//! ```

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{DestinationId, EventId, Timestamp};

/// Fences a lease. Tokens come from one increasing, store-wide sequence: every lease, rescue and replay takes a new
/// one, so a late write by an earlier holder can never match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub u64);

/// The process that holds a lease: a random number drawn at each start, never a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(pub u64);

/// Identifies a leased delivery. A worker must present it with every write about that delivery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The delivered event.
    pub event: EventId,
    /// The destination it is delivered to.
    pub destination: DestinationId,
    /// The token of the lease.
    pub token: Token,
}

/// A delivery to create when an event is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    /// The destination to deliver to.
    pub destination: DestinationId,
    /// The lane to join, if the destination is ordered.
    pub lane: Option<Lane>,
    /// Store the delivery already leased, for a local worker that can run it immediately. Never combined with a lane.
    pub first_lease: Option<FirstLease>,
}

impl NewDelivery {
    /// An unordered delivery, to be leased later.
    pub fn to(destination: impl Into<DestinationId>) -> Self {
        Self {
            destination: destination.into(),
            lane: None,
            first_lease: None,
        }
    }
}

/// The terms on which a delivery is passed directly to a local worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstLease {
    /// The process that runs it.
    pub owner: Owner,
    /// The length of the lease.
    pub lease_for: Duration,
}

/// Deliveries to one destination that run one at a time, in order of acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The value that `order_by` read from the event.
    pub key: String,
    /// What a dead delivery at the head does to the deliveries behind it.
    pub on_dead: OnDead,
}

/// How a dead delivery affects its lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDead {
    /// The lane waits until the delivery is replayed or discarded.
    #[default]
    Hold,
    /// The next delivery in the lane runs.
    Skip,
}

impl OnDead {
    /// The word in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Skip => "skip",
        }
    }
}

/// One attempt, as recorded for operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// When the attempt began.
    pub started_at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u32,
    /// The HTTP status or the exit code.
    pub status: Option<i32>,
    /// The beginning of the destination's response.
    pub excerpt: String,
    /// Why it failed; `None` if it succeeded.
    pub error: Option<ErrorClass>,
    /// A readable error message.
    pub message: Option<String>,
}

/// Kinds of failure, coarse enough to group dead letters by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// No connection could be made.
    Connect,
    /// No response in time.
    Timeout,
    /// An HTTP status that is not 2xx.
    Status,
    /// The destination refused further attempts (410, or `hapax-retry: no`).
    Refused,
    /// The connection broke during the request.
    Protocol,
    /// Calls to the address are not allowed.
    Blocked,
    /// A command exited with a code other than 0 or could not be started.
    Exit,
    /// The database of a `sql` destination rejected a statement.
    Sql,
    /// The lease expired three times: the process died while running the delivery.
    Lost,
    /// The process is shutting down.
    Shutdown,
    /// Another event arrived earlier with the same body under a different id, and the source holds such events. The
    /// delivery was never attempted; an operator releases or discards it.
    SameBody,
}

impl ErrorClass {
    /// Every error class.
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

    /// The class's name, as used in the API, logs and metrics.
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

    /// The class with the name `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == text)
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What happens to a delivery after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The attempt succeeded.
    Completed,
    /// Try again after a delay.
    Retry {
        /// The shortest time to wait, from now.
        after: Duration,
    },
    /// Stop retrying; only an operator can replay it.
    Dead {
        /// The error class of the dead letter.
        reason: ErrorClass,
    },
    /// Return the delivery unattempted: the attempt does not count.
    Release,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Waiting for its first attempt, or behind another delivery in its lane.
    Pending,
    /// Leased by a process.
    Running,
    /// Failed, and waiting for its next attempt.
    Retrying,
    /// Delivered successfully.
    Completed,
    /// A dead letter: no further attempt is made.
    Dead,
    /// A dead letter that an operator dismissed.
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

    /// The state's name, as used in the API, logs and metrics.
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

    /// The state with the name `text`.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// The state of a waiting delivery after this many counted attempts.
    pub const fn waiting(attempts: u32) -> Self {
        if attempts == 0 {
            Self::Pending
        } else {
            Self::Retrying
        }
    }

    /// Whether the delivery still has to be attempted.
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

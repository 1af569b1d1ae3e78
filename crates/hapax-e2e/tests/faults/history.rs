//! Observations from outside, in order.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DestinationKind {
    /// Over HTTP: deduplicated by `Idempotency-Key`.
    App,
    /// In a database: effect and claim commit together.
    Books,
}

impl DestinationKind {
    pub(super) fn of(destination: &str) -> Self {
        match destination {
            "app" => Self::App,
            "books" => Self::Books,
            other => panic!("no event goes to `{other}`"),
        }
    }
}

/// One observation.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// A client began to send an event that is to take effect at these destinations. In a lane, the next event is sent
    /// only after the previous one was answered 2xx.
    Sent {
        event: String,
        to: Vec<DestinationKind>,
        lane: Option<usize>,
    },
    /// The client got a response. A committed outbox row counts as a 200.
    Answered { event: String, status: u16 },
    /// A request arrived.
    Attempted { event: String, key: String },
    /// An effect was applied; each of these is one more.
    Applied { event: String, at: DestinationKind },
    /// Everything that the store held at one moment.
    Stored(BTreeMap<(String, DestinationKind), Stored>),
}

/// A delivery in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) generation: i64,
    pub(super) token: i64,
    pub(super) state: State,
    pub(super) key: String,
    /// The bulk replay that requeued it.
    pub(super) replay: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Running,
    Retrying,
    Completed,
    Dead,
    Discarded,
}

impl State {
    /// From the code that the SQL stores write.
    pub(super) fn of(code: i64) -> Self {
        match code {
            0 => Self::Pending,
            1 => Self::Running,
            2 => Self::Retrying,
            3 => Self::Completed,
            4 => Self::Dead,
            5 => Self::Discarded,
            other => panic!("the store has a state {other}"),
        }
    }

    /// From the name that Redis has.
    pub(super) fn named(name: &str) -> Self {
        match name {
            "pending" => Self::Pending,
            "running" => Self::Running,
            "retrying" => Self::Retrying,
            "completed" => Self::Completed,
            "dead" => Self::Dead,
            "discarded" => Self::Discarded,
            other => panic!("the store has a state `{other}`"),
        }
    }

    pub(super) const fn is_finished(self) -> bool {
        match self {
            Self::Pending | Self::Running | Self::Retrying => false,
            Self::Completed | Self::Dead | Self::Discarded => true,
        }
    }
}

//! Accept: claim, store and enqueue what arrived, in one durable write, then answer.
//!
//! Requests wait in one bounded queue; a loop writes all that wait together. The request's own
//! future only waits for the answer: a client that hangs up cannot tear the write, nor lose the
//! work that was handed over with it.

mod aliases;
mod cached;
mod conflicts;
mod directed;
mod prepare;
mod queue;
mod settle;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hapax_core::{ContentHash, EventId, Headers, SourceName, Timestamp};
use tokio::sync::oneshot;

use crate::engine::Engine;
pub(crate) use aliases::Aliased;
pub use directed::{ADDRESS_HEADER, DirectedEvent};
use prepare::{Keyed, Prepared};
pub(crate) use queue::Waiting;

/// What senders are told to wait when the store cannot take their event now.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// An event as the server hands it in: verified and identified.
#[derive(Clone, Debug)]
pub struct IncomingEvent {
    /// The source that received it.
    pub source: SourceName,
    /// The sender's id, in its one injective form.
    pub event_id: String,
    /// The id that an earlier version of the source's rule gives it: the same content that is known under it is this
    /// event.
    pub earlier_id: Option<String>,
    /// The sender's type.
    pub event_type: Option<String>,
    /// The timestamp under the signature.
    pub signed_at: Option<Timestamp>,
    /// Which secret matched.
    pub secret_index: Option<u16>,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Headers as they arrived.
    pub headers: Headers,
    /// The body as it arrived (of a batch: the item).
    pub body: Bytes,
    /// A hash over what stays the same on a retry, where the preset leaves fields out.
    pub content_hash: Option<ContentHash>,
    /// Of a split batch: the id of the request and the item's place in it.
    pub batch: Option<(EventId, u32)>,
}

/// The answer for one event. All of them mean: durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is new, and stored.
    New {
        /// Our id.
        id: EventId,
        /// The sender's.
        event_id: String,
    },
    /// It was here before.
    Duplicate {
        /// The first one's id.
        id: EventId,
        /// The sender's.
        event_id: String,
        /// When the first was committed.
        first_seen: Timestamp,
    },
    /// It is new and has no id of its own: it is stored, and goes nowhere until an operator says where.
    Quarantined {
        /// Our id.
        id: EventId,
        /// What is kept instead of the sender's.
        event_id: String,
    },
    /// Its id was here before, with another body. The variant is kept aside.
    Conflict {
        /// The first one's id.
        id: EventId,
        /// The sender's.
        event_id: String,
    },
}

impl Accepted {
    /// `accepted`, `duplicate`, `quarantined` or `conflict`.
    pub const fn status(&self) -> &'static str {
        match self {
            Self::New { .. } => "accepted",
            Self::Duplicate { .. } => "duplicate",
            Self::Quarantined { .. } => "quarantined",
            Self::Conflict { .. } => "conflict",
        }
    }

    /// Our id (the first one's, for a copy).
    pub const fn id(&self) -> EventId {
        match self {
            Self::New { id, .. }
            | Self::Duplicate { id, .. }
            | Self::Quarantined { id, .. }
            | Self::Conflict { id, .. } => *id,
        }
    }

    /// The sender's id.
    pub fn event_id(&self) -> &str {
        match self {
            Self::New { event_id, .. }
            | Self::Duplicate { event_id, .. }
            | Self::Quarantined { event_id, .. }
            | Self::Conflict { event_id, .. } => event_id,
        }
    }
}

/// Why a request was not taken. Nothing is promised to its sender, who will come again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No source has this name.
    #[error("no source has this name")]
    UnknownSource,
    /// The source's rate is used up.
    #[error("the source's rate limit is used up")]
    RateLimited {
        /// When to come again.
        retry_after: Duration,
    },
    /// Too much waits to be written.
    #[error("too many requests wait to be written")]
    Overloaded {
        /// When to come again.
        retry_after: Duration,
    },
    /// The store cannot write.
    #[error("{message}")]
    Unavailable {
        /// When to come again.
        retry_after: Duration,
        /// What is wrong.
        message: String,
    },
    /// The store cannot take it as it is set up; waiting alone does not help.
    #[error("{message}")]
    Unsupported {
        /// When to come again.
        retry_after: Duration,
        /// What is wrong.
        message: String,
    },
    /// The process is about to end.
    #[error("the service is shutting down")]
    ShuttingDown {
        /// When to come again.
        retry_after: Duration,
    },
    /// The store will never take this very event.
    #[error("{message}")]
    Rejected {
        /// Why.
        message: String,
    },
}

/// Why an event was not taken, inside the engine.
pub(crate) enum Untaken {
    Refused(Refusal),
    /// Its id was taken for another target; nothing was kept of it.
    OtherTarget,
}

impl From<Refusal> for Untaken {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Untaken> for Refusal {
    fn from(untaken: Untaken) -> Self {
        match untaken {
            Untaken::Refused(refusal) => refusal,
            Untaken::OtherTarget => Self::Rejected {
                message: "the id was taken for another target".to_owned(),
            },
        }
    }
}

impl Engine {
    /// Takes the events of one request. Answers only when every one of them is durable.
    ///
    /// # Errors
    /// A [`Refusal`]: then nothing is promised, and the sender must come again.
    pub async fn accept(&self, arrivals: Vec<IncomingEvent>) -> Result<Vec<Accepted>, Refusal> {
        let inner = &self.0;
        if inner.is_stopping() {
            return Err(Refusal::ShuttingDown {
                retry_after: RETRY_AFTER,
            });
        }
        let now = inner.elapsed();
        let plan = inner.plan.load();
        let first = arrivals.first().ok_or(Refusal::UnknownSource)?;
        let source = plan.sources.get(&first.source).ok_or(Refusal::UnknownSource)?;
        if let Some(bucket) = &source.bucket {
            bucket
                .take(1, now)
                .map_err(|retry_after| Refusal::RateLimited { retry_after })?;
        }
        let arrivals: Vec<Keyed> = arrivals
            .into_iter()
            .map(|incoming| source.keyed(incoming))
            .collect();
        if let Some(answers) = inner.answer_from_cache(&arrivals, now) {
            return Ok(answers);
        }
        if arrivals.iter().any(|keyed| !keyed.aliases.is_empty()) {
            let (answer, answered) = oneshot::channel();
            inner.queue_look_up(Aliased {
                source: Arc::clone(source),
                arrivals,
                answer,
            });
            drop(plan);
            return answer_of(answered).await.map_err(Refusal::from);
        }
        let events = arrivals
            .into_iter()
            .map(|incoming| inner.prepare(source, incoming, now))
            .collect();
        drop(plan);
        self.write(events).await.map_err(Refusal::from)
    }

    /// Lets events wait to be written, and waits for the answer.
    async fn write(&self, events: Vec<Prepared>) -> Result<Vec<Accepted>, Untaken> {
        let (answer, answered) = oneshot::channel();
        self.0.queue(Waiting { events, answer });
        answer_of(answered).await
    }
}

type Answered = oneshot::Receiver<Result<Vec<Accepted>, Untaken>>;

async fn answer_of(answered: Answered) -> Result<Vec<Accepted>, Untaken> {
    let stopped = Refusal::ShuttingDown {
        retry_after: RETRY_AFTER,
    };
    answered.await.unwrap_or(Err(Untaken::Refused(stopped)))
}

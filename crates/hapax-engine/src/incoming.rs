//! An event as it comes in, and the answers to it.

use std::time::Duration;

use bytes::Bytes;
use hapax_core::{ContentHash, EventId, Headers, SourceName, Timestamp};

/// A verified and identified event, as the server passes it in.
#[derive(Clone, Debug)]
pub struct IncomingEvent {
    pub source: SourceName,
    /// The provider's id, in its one injective form.
    pub event_id: String,
    /// The id that an earlier version of the source's rule would give it. If the ledger knows the same content under
    /// that id, it is this event.
    pub earlier_id: Option<String>,
    /// The provider's event type.
    pub event_type: Option<String>,
    /// The timestamp under the signature.
    pub signed_at: Option<Timestamp>,
    /// Index of the secret that matched.
    pub secret_index: Option<u16>,
    pub received_at: Timestamp,
    /// Headers as they arrived.
    pub headers: Headers,
    /// The body as it arrived (for a batch, the item).
    pub body: Bytes,
    /// A hash over the content that stays the same on a retry, if the preset excludes fields.
    pub content_hash: Option<ContentHash>,
    /// For an item of a split batch: the request's id and the item's position.
    pub batch: Option<(EventId, u32)>,
}

/// The answer for one event. Every variant means that it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// New, and stored.
    New {
        /// The Hapax id.
        id: EventId,
        /// The provider's id.
        event_id: String,
    },
    /// Already accepted, with the same body.
    Duplicate {
        /// The first event's Hapax id.
        id: EventId,
        /// The provider's id.
        event_id: String,
        /// When the first event was committed.
        first_seen: Timestamp,
    },
    /// New, but without an id of its own: stored, and not delivered until an operator says where to.
    Quarantined {
        /// The Hapax id.
        id: EventId,
        /// The id stored in place of the provider's.
        event_id: String,
    },
    /// A known id with another body. The body is stored as a conflict.
    Conflict {
        /// The first event's Hapax id.
        id: EventId,
        /// The provider's id.
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

    /// The Hapax id (the first event's, for a duplicate).
    pub const fn id(&self) -> EventId {
        match self {
            Self::New { id, .. }
            | Self::Duplicate { id, .. }
            | Self::Quarantined { id, .. }
            | Self::Conflict { id, .. } => *id,
        }
    }

    /// The provider's id.
    pub fn event_id(&self) -> &str {
        match self {
            Self::New { event_id, .. }
            | Self::Duplicate { event_id, .. }
            | Self::Quarantined { event_id, .. }
            | Self::Conflict { event_id, .. } => event_id,
        }
    }
}

/// Why a request was refused. Nothing is promised to the provider, which will retry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no source has this name")]
    UnknownSource,
    #[error("the source's rate limit is exceeded")]
    RateLimited {
        /// When to retry.
        retry_after: Duration,
    },
    #[error("too many requests are waiting to be written")]
    Overloaded {
        /// When to retry.
        retry_after: Duration,
    },
    /// The store cannot write.
    #[error("{message}")]
    Unavailable {
        /// When to retry.
        retry_after: Duration,
        message: String,
    },
    /// The store cannot accept it as configured; waiting alone does not help.
    #[error("{message}")]
    Unsupported {
        /// When to retry.
        retry_after: Duration,
        message: String,
    },
    #[error("the service is shutting down")]
    ShuttingDown {
        /// When to retry.
        retry_after: Duration,
    },
    /// The store will never accept this event.
    #[error("{message}")]
    Rejected { message: String },
}

/// Why an event was not accepted, inside the engine.
#[derive(Debug)]
pub(crate) enum Untaken {
    Refused(Refusal),
    /// Its id belongs to another target; nothing of it was stored.
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
                message: "the id belongs to an event for another target".to_owned(),
            },
        }
    }
}

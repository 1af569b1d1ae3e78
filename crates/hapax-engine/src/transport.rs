//! The seam between the engine and the destinations.

use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{ErrorClass, Leased};

/// Carries deliveries to their destinations. One call is one attempt.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Makes one attempt. The engine drops the future at the destination's deadline or when the lease is lost; the
    /// attempt must then stop.
    async fn deliver(&self, delivery: &Leased) -> AttemptResult;
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptResult {
    pub reply: Reply,
    /// The HTTP status or the exit code.
    pub status: Option<i32>,
    /// The beginning of the destination's response, for people to read.
    pub excerpt: String,
}

/// The meaning of a destination's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Done,
    /// Failed; retry later, and not before `retry_after` if the destination asked for that.
    Failed {
        class: ErrorClass,
        message: String,
        /// The delay that the destination asked for.
        retry_after: Option<Duration>,
    },
    /// Failed permanently; never retried automatically.
    Refused {
        class: ErrorClass,
        message: String,
    },
}

impl AttemptResult {
    /// A success with an empty excerpt.
    pub const fn done(status: i32) -> Self {
        Self {
            reply: Reply::Done,
            status: Some(status),
            excerpt: String::new(),
        }
    }

    /// A failure without a response.
    pub fn failed(class: ErrorClass, message: impl Into<String>) -> Self {
        let reply = Reply::Failed {
            class,
            message: message.into(),
            retry_after: None,
        };
        Self {
            reply,
            status: None,
            excerpt: String::new(),
        }
    }
}

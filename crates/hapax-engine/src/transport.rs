//! How a delivery leaves: the seam between the engine and the destinations.

use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{ErrorClass, Leased};

/// Carries deliveries to their destinations. One call is one attempt.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Makes one attempt. The engine drops the future at the destination's deadline, or when the
    /// lease is lost; the attempt must then stop by itself.
    async fn deliver(&self, delivery: &Leased) -> AttemptResult;
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptResult {
    /// What it means.
    pub reply: Reply,
    /// The HTTP status or the exit code.
    pub status: Option<i32>,
    /// The beginning of what the destination said, for people.
    pub excerpt: String,
}

/// What a destination's answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Done.
    Done,
    /// Failed; try again later, not before `retry_after` if the destination asked for that.
    Failed {
        /// The kind of failure.
        class: ErrorClass,
        /// In words.
        message: String,
        /// The destination's wish.
        retry_after: Option<Duration>,
    },
    /// Failed for good: never try again by itself.
    Refused {
        /// The kind of failure.
        class: ErrorClass,
        /// In words.
        message: String,
    },
}

impl AttemptResult {
    /// A success without anything to tell.
    pub const fn done(status: i32) -> Self {
        Self {
            reply: Reply::Done,
            status: Some(status),
            excerpt: String::new(),
        }
    }

    /// A failure without an answer.
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

//! Errors, and whether a retry can help. A duplicate is not an error: see [`crate::Outcome`].

use std::error::Error as StdError;

use crate::call::InvalidCall;
use crate::limits::NAME_BYTES_MAX;

/// The string cannot be a source, an event id or a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} {problem}")]
pub struct Invalid {
    /// What the string was meant to be.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: InvalidProblem,
}

/// What is wrong with a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProblem {
    /// It is empty.
    #[error("is empty, so events could not be distinguished; pass the provider's own id")]
    Empty,
    /// It contains a NUL character, which databases do not accept.
    #[error("contains a NUL character, which databases do not accept")]
    Nul,
    /// It is too long.
    #[error("is longer than {NAME_BYTES_MAX} bytes; use a hash of it instead, the same one everywhere")]
    TooLong,
}

impl Invalid {
    pub(crate) fn check(what: &'static str, text: String) -> Result<String, Self> {
        let problem = match text.as_str() {
            "" => InvalidProblem::Empty,
            text if text.contains('\0') => InvalidProblem::Nul,
            text if text.len() > NAME_BYTES_MAX => InvalidProblem::TooLong,
            _ => return Ok(text),
        };
        Err(Self { what, problem })
    }
}

/// The kind of trouble a database is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Another transaction held a lock for longer than the allowed wait.
    Busy,
    /// The transaction lost to a concurrent one (a deadlock, a serialization failure): a retry may well succeed.
    Victim,
    /// The database cannot be reached or is not accepting work.
    Unavailable,
    /// The database refused the statement: a retry will fail again.
    Refused,
}

/// A driver's error.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .trouble.words())]
pub struct DatabaseError {
    /// The kind of trouble.
    pub trouble: Trouble,
    /// The driver's own error.
    #[source]
    pub source: Box<dyn StdError + Send + Sync>,
}

impl Trouble {
    const fn words(self) -> &'static str {
        match self {
            Self::Busy => "another transaction holds a lock that this one needs; deliver the event again",
            Self::Victim => "the transaction lost to a concurrent one and nothing was written; run it again",
            Self::Unavailable => "the database is unreachable or unavailable; try again later",
            Self::Refused => "the database refused a statement",
        }
    }
}

impl DatabaseError {
    /// Whether a retry may succeed.
    pub const fn is_retryable(&self) -> bool {
        match self.trouble {
            Trouble::Busy | Trouble::Victim | Trouble::Unavailable => true,
            Trouble::Refused => false,
        }
    }
}

/// Why an event could not be claimed or a call could not be staged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The event or the consumer is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The call is invalid.
    #[error(transparent)]
    InvalidCall(#[from] InvalidCall),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Error {
    /// Whether a retry may succeed.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::InvalidCall(_) => false,
            Self::Database(error) => error.is_retryable(),
        }
    }
}

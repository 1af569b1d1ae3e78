//! What can go wrong, and whether it is worth another try. A duplicate is not an error: see [`crate::Outcome`].

use std::error::Error as StdError;

use crate::limits::NAME_BYTES_MAX;

/// A text that cannot be a source, an event id or a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {what} {problem}")]
pub struct Invalid {
    /// What it was to be.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: InvalidProblem,
}

/// What is wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProblem {
    /// It is empty.
    #[error("is empty, so that events could not be told apart; pass the sender's own id")]
    Empty,
    /// It contains a NUL character, which databases do not take.
    #[error("contains a NUL character, which databases do not take")]
    Nul,
    /// It is too long.
    #[error("is longer than {NAME_BYTES_MAX} bytes; use a hash of it, everywhere the same")]
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

/// What kind of trouble a database is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Another transaction holds what this one needs, for longer than it may wait.
    Busy,
    /// It fell victim to others (a deadlock, a serialization failure): the same again may well succeed.
    Victim,
    /// The database cannot be reached, or cannot work now.
    Unavailable,
    /// The database says no: the same again will fail again.
    Refused,
}

/// A driver's error.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", .trouble.words())]
pub struct DatabaseError {
    /// What kind of trouble it is.
    pub trouble: Trouble,
    /// What the driver said.
    #[source]
    pub source: Box<dyn StdError + Send + Sync>,
}

impl Trouble {
    const fn words(self) -> &'static str {
        match self {
            Self::Busy => "another transaction holds what this one needs; deliver the event again",
            Self::Victim => "other transactions were in the way and nothing was written; run it again",
            Self::Unavailable => "the database cannot be reached or cannot work now; try again later",
            Self::Refused => "the database refuses a statement",
        }
    }
}

impl DatabaseError {
    /// Whether the same again may succeed.
    pub const fn is_retryable(&self) -> bool {
        match self.trouble {
            Trouble::Busy | Trouble::Victim | Trouble::Unavailable => true,
            Trouble::Refused => false,
        }
    }
}

/// Why a claim was not judged, or a call not staged.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The event or the consumer cannot be one.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The call cannot be made.
    #[error(transparent)]
    InvalidCall(#[from] crate::outbox::InvalidCall),
    /// The database did not do it.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Error {
    /// Whether the same again may succeed.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::InvalidCall(_) => false,
            Self::Database(error) => error.is_retryable(),
        }
    }
}

/// Why a run did not come to an outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The handler failed. Everything is rolled back, the claim too: the event may come again.
    #[error("the handler failed and nothing was written: {0}")]
    Handler(E),
    /// The handler said that all was well, but one of its statements had failed, or it had ended the
    /// transaction itself. A commit would have written nothing and said nothing.
    #[error(
        "the handler returned Ok, but its transaction can no longer commit: a statement failed and its error \
         was dropped, or the handler sent COMMIT or ROLLBACK itself; hand on every error, and leave the \
         transaction's end to the inbox"
    )]
    Broken(#[source] DatabaseError),
    /// The database failed before the commit. Nothing was written.
    #[error("nothing was written: {0}")]
    Database(#[source] DatabaseError),
    /// The connection broke during the commit: no one knows on this side whether it took effect.
    #[error(
        "it is unknown whether the commit took effect: {0}; deliver the event again, the inbox will tell"
    )]
    Unknown(#[source] DatabaseError),
}

impl<E: StdError + 'static> RunError<E> {
    /// Whether to run the same again, at once and without the sender: a deadlock or a serialization failure,
    /// also where it is the handler that met it, and whatever passes by itself.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Handler(error) => crate::driver::trouble_of(error) == Some(Trouble::Victim),
            Self::Broken(_) => false,
            Self::Database(error) | Self::Unknown(error) => error.is_retryable(),
        }
    }
}

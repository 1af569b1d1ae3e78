//! Why a run ended without an outcome, and whether to run the event again.

use std::error::Error as StdError;

use crate::driver::trouble_of;
use crate::error::{DatabaseError, Trouble};

/// Why a run did not reach an outcome.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The handler failed. Everything is rolled back, including the claim, so the event can be delivered again.
    #[error("the handler failed and nothing was written: {0}")]
    Handler(E),
    /// The handler returned `Ok`, but one of its statements had failed, or it had ended the transaction itself. A
    /// commit would have written nothing and reported no error.
    #[error(
        "the handler returned Ok, but its transaction can no longer commit: a statement failed and its error \
         was dropped, or the handler sent COMMIT or ROLLBACK itself; return every error, and leave the \
         transaction's end to the inbox"
    )]
    Broken(#[source] DatabaseError),
    /// The database failed before the commit. Nothing was written.
    #[error("nothing was written: {0}")]
    Database(#[source] DatabaseError),
    /// The connection broke during the commit: it is unknown whether the commit took effect.
    #[error(
        "it is unknown whether the commit took effect: {0}; deliver the event again, and the inbox will detect a duplicate"
    )]
    Unknown(#[source] DatabaseError),
}

impl<E: StdError + 'static> RunError<E> {
    /// Whether to run the same event again immediately, without waiting for a redelivery: after a deadlock or a
    /// serialization failure, including one that the handler reported, and after any transient failure.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Handler(error) => trouble_of(error) == Some(Trouble::Victim),
            Self::Broken(_) => false,
            Self::Database(error) | Self::Unknown(error) => error.is_retryable(),
        }
    }
}

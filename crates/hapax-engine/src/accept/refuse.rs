//! Why a request is refused: a full queue, or a store that cannot accept it.

use std::time::Duration;

use hapax_core::store::Error;
use tokio::sync::mpsc;

use crate::incoming::Refusal;

/// The `Retry-After` for sources whose event the store cannot accept now.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Why a queue refuses a request.
pub(super) fn no_room<T>(error: &mpsc::error::TrySendError<T>) -> Refusal {
    match error {
        mpsc::error::TrySendError::Full(_) => Refusal::Overloaded {
            retry_after: RETRY_AFTER,
        },
        mpsc::error::TrySendError::Closed(_) => Refusal::ShuttingDown {
            retry_after: RETRY_AFTER,
        },
    }
}

pub(super) fn refusal(error: &Error) -> Refusal {
    match error {
        Error::Overloaded => Refusal::Overloaded {
            retry_after: RETRY_AFTER,
        },
        Error::Unavailable { .. } | Error::Damaged { .. } => Refusal::Unavailable {
            retry_after: RETRY_AFTER,
            message: error.to_string(),
        },
        Error::Unsupported { .. } => Refusal::Unsupported {
            retry_after: RETRY_AFTER,
            message: error.to_string(),
        },
        Error::Rejected { message } => Refusal::Rejected {
            message: message.clone(),
        },
    }
}

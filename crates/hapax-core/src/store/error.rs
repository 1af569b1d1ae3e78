//! What can go wrong in a store, and whether trying again can help.

use std::error::Error as StdError;

/// A store could not do what it was asked. A duplicate, a lost lease or another body under the
/// same id is not an error: those are outcomes.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store cannot be reached or cannot write now: no connection, no room, read-only.
    /// Nothing was written.
    #[error("the store is unavailable: {message}")]
    Unavailable {
        /// What to tell an operator.
        message: String,
        /// The backend's own error.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The store's queue of writes is full. Nothing was written.
    #[error("the store's write queue is full")]
    Overloaded,
    /// What is stored cannot be read: the file is damaged or was written by something else.
    #[error("the store is damaged: {message}")]
    Damaged {
        /// What to tell an operator.
        message: String,
        /// The backend's own error.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The store can never do what it was asked as it is set up: a right or a table is missing, or it does not know a
    /// statement of ours. Nothing was written, and waiting alone does not help.
    #[error("the store cannot do what Hapax asks of it: {message}")]
    Unsupported {
        /// What to tell an operator: what is wrong, and what fixes it.
        message: String,
    },
    /// This very item can never be written, whoever tries: its neighbours in the batch were.
    #[error("the store refuses this item: {message}")]
    Rejected {
        /// What to tell the sender.
        message: String,
    },
}

impl Error {
    /// A passing failure with the backend's error behind it.
    pub fn unavailable(message: impl Into<String>, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Unavailable {
            message: message.into(),
            source: Some(Box::new(source)),
        }
    }

    /// Whether the same call may succeed later, if only after someone has set the store up as it should be.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Overloaded | Self::Unsupported { .. } => true,
            Self::Damaged { .. } | Self::Rejected { .. } => false,
        }
    }
}

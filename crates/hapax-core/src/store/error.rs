//! Errors of a store, and whether a retry can help.

use std::error::Error as StdError;

/// A store operation failed. A duplicate, a lost lease or a conflicting body is not an error but an outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store is unreachable or cannot write now: no connection, no space, read-only. Nothing was written.
    #[error("the store is unavailable: {message}")]
    Unavailable {
        /// A message for the operator.
        message: String,
        /// The backend's own error.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The store's queue of writes is full. Nothing was written.
    #[error("the store's write queue is full")]
    Overloaded,
    /// The stored data cannot be read: the file is damaged or was written by another program.
    #[error("the store is damaged: {message}")]
    Damaged {
        /// A message for the operator.
        message: String,
        /// The backend's own error.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The store cannot perform the operation as it is set up: a permission or a table is missing, or the server does
    /// not support a statement. Nothing was written, and waiting alone does not help.
    #[error("the store does not support an operation that Hapax needs: {message}")]
    Unsupported {
        /// A message for the operator: what is wrong and how to fix it.
        message: String,
    },
    /// This item can never be written; the other items of the batch were.
    #[error("the store refuses this item: {message}")]
    Rejected {
        /// A message for the provider.
        message: String,
    },
}

impl Error {
    /// Creates a transient failure that wraps the backend's error.
    pub fn unavailable(message: impl Into<String>, source: impl StdError + Send + Sync + 'static) -> Self {
        Self::Unavailable {
            message: message.into(),
            source: Some(Box::new(source)),
        }
    }

    /// Whether the same call may succeed later, possibly only after someone has fixed the store's setup.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Overloaded | Self::Unsupported { .. } => true,
            Self::Damaged { .. } | Self::Rejected { .. } => false,
        }
    }
}

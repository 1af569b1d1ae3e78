//! Why a query cannot be parsed.

use std::fmt;

/// A query that cannot be parsed: the position, the reason, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The start of the term, in bytes.
    pub at: usize,
    message: String,
}

impl QueryError {
    pub(super) fn new(at: usize, message: impl Into<String>) -> Self {
        Self {
            at,
            message: message.into(),
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the query, at character {}: {}", self.at + 1, self.message)
    }
}

impl std::error::Error for QueryError {}

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
    /// Checks a string that is meant to be a source, an event id or a consumer, and returns it.
    pub fn check(what: &'static str, text: String) -> Result<String, Self> {
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
    /// The trouble that an SQLSTATE of PostgreSQL stands for; `None` is a connection error.
    pub fn of_postgres(state: Option<&str>) -> Self {
        let Some(state) = state else {
            return Self::Unavailable;
        };
        match (state.get(..2).unwrap_or_default(), state) {
            (_, "55P03") => Self::Busy,
            (_, "40001" | "40P01") => Self::Victim,
            ("08" | "53" | "58" | "XX", _) | (_, "25006" | "57P01" | "57P02" | "57P03" | "57P05") => {
                Self::Unavailable
            }
            (_, _) => Self::Refused,
        }
    }

    /// The trouble that a result code of SQLite stands for, whether primary or extended; `None` is a driver's own error.
    pub const fn of_sqlite(code: Option<i32>) -> Self {
        let Some(code) = code else {
            return Self::Refused;
        };
        match code & 0xff {
            // SQLITE_BUSY, SQLITE_LOCKED.
            5 | 6 => Self::Busy,
            // SQLITE_NOMEM, SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN.
            7 | 8 | 10 | 13 | 14 => Self::Unavailable,
            _ => Self::Refused,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_worth_another_try() {
        for (state, expected) in [
            (Some("55P03"), Trouble::Busy),
            (Some("40001"), Trouble::Victim),
            (Some("40P01"), Trouble::Victim),
            (Some("57P01"), Trouble::Unavailable),
            (Some("08006"), Trouble::Unavailable),
            (Some("XX000"), Trouble::Unavailable),
            (None, Trouble::Unavailable),
            (Some("23505"), Trouble::Refused),
            (Some("42P01"), Trouble::Refused),
        ] {
            assert_eq!(Trouble::of_postgres(state), expected, "{state:?}");
        }
    }

    /// 517 is SQLITE_BUSY_SNAPSHOT, 2067 SQLITE_CONSTRAINT_UNIQUE.
    #[test]
    fn an_extended_code_of_sqlite_means_what_its_primary_code_does() {
        for (code, expected) in [
            (Some(5), Trouble::Busy),
            (Some(517), Trouble::Busy),
            (Some(6), Trouble::Busy),
            (Some(13), Trouble::Unavailable),
            (Some(778), Trouble::Unavailable),
            (Some(1), Trouble::Refused),
            (Some(2067), Trouble::Refused),
            (None, Trouble::Refused),
        ] {
            assert_eq!(Trouble::of_sqlite(code), expected, "{code:?}");
        }
    }
}

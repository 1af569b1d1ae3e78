//! Failures inside a step, and how far each reaches: the step alone, or every call in its transaction.

use std::fmt;
use std::sync::Arc;

use hapax_core::store::Error;
use rusqlite::ErrorCode;

/// A step did not succeed.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// SQLite returned an error.
    Sql(Arc<rusqlite::Error>),
    /// This item can never be written.
    Rejected(String),
    /// A stored row does not make sense.
    Unreadable(String),
    /// The database file cannot be opened again.
    Gone(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}

/// How much a failure affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only the item: its neighbours can be written.
    Item,
    /// The whole transaction.
    Transaction,
    /// The whole transaction, and the connection can no longer be trusted.
    Connection,
}

impl Failure {
    pub(crate) fn reach(&self) -> Reach {
        match self {
            Self::Rejected(_) | Self::Unreadable(_) => Reach::Item,
            Self::Gone(_) => Reach::Connection,
            Self::Sql(error) => match error.sqlite_error_code() {
                Some(
                    ErrorCode::DiskFull
                    | ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
                    | ErrorCode::OutOfMemory
                    | ErrorCode::OperationInterrupted,
                ) => Reach::Transaction,
                Some(
                    ErrorCode::SystemIoFailure
                    | ErrorCode::ReadOnly
                    | ErrorCode::CannotOpen
                    | ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::FileLockingProtocolFailed
                    | ErrorCode::PermissionDenied
                    | ErrorCode::SchemaChanged
                    | ErrorCode::OperationAborted,
                ) => Reach::Connection,
                // Constraints, oversized values, and any other error of a single statement.
                _ => Reach::Item,
            },
        }
    }

    /// The failure as an error of the store's contract.
    pub(crate) fn to_error(&self) -> Error {
        match self {
            Self::Rejected(message) => Error::Rejected {
                message: message.clone(),
            },
            Self::Unreadable(message) => Error::Damaged {
                message: message.clone(),
                source: None,
            },
            Self::Gone(message) => Error::Unavailable {
                message: message.clone(),
                source: None,
            },
            Self::Sql(error) => from_sql(error),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_error(), f)
    }
}

fn from_sql(error: &Arc<rusqlite::Error>) -> Error {
    let unavailable = |what: &str| Error::unavailable(what, Arc::clone(error));
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            unavailable("the disk is full: nothing was written; writes resume once there is room")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            unavailable("the database file cannot be written: it or its disk is read-only")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            unavailable("another program holds a lock on the database file")
        }
        Some(ErrorCode::OutOfMemory) => unavailable("the process is out of memory"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Damaged {
            message:
                "the database file is damaged: stop the service, keep a copy of the file, and restore a \
                      backup or salvage it with `sqlite3 FILE .recover`"
                    .to_owned(),
            source: Some(Box::new(Arc::clone(error))),
        },
        Some(ErrorCode::TooBig) => Error::Rejected {
            message: "it is larger than the store can hold".to_owned(),
        },
        Some(ErrorCode::ConstraintViolation) => Error::Rejected {
            message: format!("it contradicts what is stored: {error}"),
        },
        Some(_) => unavailable("reading or writing the database file failed"),
        None => Error::Damaged {
            message: "a stored row cannot be read".to_owned(),
            source: Some(Box::new(Arc::clone(error))),
        },
    }
}

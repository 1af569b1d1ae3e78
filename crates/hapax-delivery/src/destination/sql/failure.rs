//! Errors of a target database, and whether a retry can help.

use hapax::Trouble;
use hapax_core::ErrorClass;
use hapax_engine::AttemptResult;
use tokio_postgres::error::SqlState;

use super::refused;
pub(super) use hapax_telemetry::chain;

/// Why an event was not applied. Either nothing was written, or it is unknown; then the inbox tells the next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    pub(super) message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The connection is broken or could not be made: retry on a new one.
    Connection,
    /// Retry.
    Timeout,
    /// A serialization failure, a deadlock or a lock: retry alone.
    Contention,
    /// The server does not know a statement that it prepared: there is a pooler in between.
    Unprepared,
    /// The statement or its values are wrong: not retried automatically.
    Statement,
}

/// Why a transaction was not committed. It was rolled back, or its result is unknown; then the inbox tells the next
/// attempt.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) failure: Failure,
    /// The event whose statement failed; `None` if it was the COMMIT or the connection.
    pub(super) at: Option<usize>,
}

impl<E: Into<Failure>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self {
            failure: error.into(),
            at: None,
        }
    }
}

impl Failure {
    /// The failure that broke a transaction at this event.
    pub(super) const fn at(self, number: usize) -> Broken {
        Broken {
            failure: self,
            at: Some(number),
        }
    }

    /// Whether the connection is broken or in an unknown state.
    pub(super) const fn loses_the_link(&self) -> bool {
        match self.kind {
            Kind::Connection | Kind::Timeout | Kind::Unprepared => true,
            // The transaction was rolled back when it was dropped.
            Kind::Contention | Kind::Statement => false,
        }
    }

    pub(super) fn connection(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Connection,
            message: message.into(),
        }
    }

    pub(super) fn timeout(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Timeout,
            message: message.into(),
        }
    }

    pub(super) fn answer(&self) -> AttemptResult {
        let class = match self.kind {
            Kind::Connection => ErrorClass::Connect,
            Kind::Timeout => ErrorClass::Timeout,
            Kind::Contention | Kind::Unprepared => ErrorClass::Sql,
            Kind::Statement => return refused(self.message.clone()),
        };
        AttemptResult::failed(class, self.message.clone())
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(database) = error.as_db_error() else {
            return Self::connection(format!("the database cannot be reached: {}", chain(&error)));
        };
        // The server's detail may quote the row's values; its message does not.
        Self {
            kind: postgres_kind(database.code()),
            message: format!("SQLSTATE {}: {}", database.code().code(), database.message()),
        }
    }
}

impl From<hapax::Error> for Failure {
    fn from(error: hapax::Error) -> Self {
        match error {
            hapax::Error::Database(error) => error.into(),
            hapax::Error::Invalid(_) | hapax::Error::InvalidCall(_) => Self {
                kind: Kind::Statement,
                message: error.to_string(),
            },
        }
    }
}

impl From<hapax::DatabaseError> for Failure {
    fn from(error: hapax::DatabaseError) -> Self {
        let source = match error.source.downcast::<tokio_postgres::Error>() {
            Ok(postgres) => return (*postgres).into(),
            Err(source) => source,
        };
        let source = match source.downcast::<rusqlite::Error>() {
            Ok(sqlite) => return (*sqlite).into(),
            Err(source) => source,
        };
        let kind = match error.trouble {
            Trouble::Busy | Trouble::Victim => Kind::Contention,
            Trouble::Unavailable => Kind::Connection,
            Trouble::Refused => Kind::Statement,
        };
        Self {
            kind,
            message: source.to_string(),
        }
    }
}

fn postgres_kind(code: &SqlState) -> Kind {
    // Classes: 08 connection, 53 out of resources, 57P shutting down, 58 system, XX internal errors (for example a file
    // that cannot grow), 25006 a standby, 25P03 idle too long.
    const CONNECTION: [&str; 7] = ["08", "53", "57P", "58", "XX", "25006", "25P03"];
    const CONTENTION: [&str; 2] = ["40", "55P03"];
    let begins = |list: &[&str]| list.iter().any(|start| code.code().starts_with(start));
    if *code == SqlState::QUERY_CANCELED {
        Kind::Timeout
    } else if begins(&CONTENTION) {
        Kind::Contention
    } else if begins(&CONNECTION) {
        Kind::Connection
    } else if *code == SqlState::INVALID_SQL_STATEMENT_NAME || *code == SqlState::DUPLICATE_PSTATEMENT {
        Kind::Unprepared
    } else {
        Kind::Statement
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ffi::ErrorCode;
        let Some(code) = error.sqlite_error() else {
            return Self {
                kind: Kind::Statement,
                message: error.to_string(),
            };
        };
        let kind = match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Kind::Contention,
            ErrorCode::OperationInterrupted => Kind::Timeout,
            ErrorCode::CannotOpen
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::InternalMalfunction
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::FileLockingProtocolFailed => Kind::Connection,
            _ => Kind::Statement,
        };
        Self {
            kind,
            message: format!("SQLite error {}: {error}", code.extended_code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_tried_again_and_the_rest_is_dead() {
        for (code, kind) in [
            ("40001", Kind::Contention),
            ("40P01", Kind::Contention),
            ("55P03", Kind::Contention),
            ("08006", Kind::Connection),
            ("57P01", Kind::Connection),
            ("53300", Kind::Connection),
            ("XX000", Kind::Connection),
            ("25006", Kind::Connection),
            ("57014", Kind::Timeout),
            ("26000", Kind::Unprepared),
            ("23505", Kind::Statement),
            ("22P02", Kind::Statement),
            ("42P01", Kind::Statement),
            ("P0001", Kind::Statement),
        ] {
            assert_eq!(postgres_kind(&SqlState::from_code(code)), kind, "{code}");
        }
    }
}

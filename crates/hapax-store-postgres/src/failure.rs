//! Failures inside a step, and the remedy for each: run again, isolate the poison item, or discard the connection.

use std::error::Error as _;
use std::panic::Location;
use std::sync::Arc;
use std::{fmt, io};

use hapax_core::store::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::statement;

/// A step did not succeed.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The database, or the connection to it, returned an error.
    Sql(Arc<Refused>),
    /// The connection broke during the commit, which may or may not have happened.
    Unsure(Arc<Refused>),
    /// Rows changed under the step; the whole step may run again.
    Moved,
    /// This item can never be written.
    Rejected(String),
    /// A stored row does not make sense.
    Unreadable(String),
    /// There is no connection, or no answer.
    Unavailable(String),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let statement = None;
        Self::Sql(Arc::new(Refused { error, statement }))
    }
}

/// The database's error, and the statement it was about. It never prints bound values: the server repeats those in the
/// details of its errors, which are left out.
pub(crate) struct Refused {
    error: tokio_postgres::Error,
    statement: Option<String>,
}

impl std::error::Error for Refused {}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(statement) = &self.statement {
            write!(f, "{statement}: ")?;
        }
        f.write_str(&describe(&self.error))
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The server's error without its details, `ERROR 42P01: relation "hapax.work" does not exist`; or why there is none.
pub(crate) fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("{} {}: {}", said.severity(), said.code().code(), said.message());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Run the same step again; it may succeed at once.
    Again,
    /// A prepared statement is missing or belongs to another client: run the same step again without prepared
    /// statements.
    Unprepared,
    /// A prepared statement no longer fits its tables: run the same step again on a connection without any.
    Afresh,
    /// One of the items can never be written; the others can.
    Bisect,
    /// The connection is good; return the failure to the caller.
    Tell,
    /// The connection can no longer be trusted.
    Discard,
}

impl Remedy {
    /// Whether the step is run again.
    pub(crate) const fn is_again(self) -> bool {
        match self {
            Self::Again | Self::Unprepared | Self::Afresh => true,
            Self::Bisect | Self::Tell | Self::Discard => false,
        }
    }
}

impl Failure {
    /// The failure of a statement, with the caller's file.
    pub(crate) fn of(sql: &str, caller: &Location<'_>, error: tokio_postgres::Error) -> Self {
        let statement = Some(statement::name(sql, caller));
        Self::Sql(Arc::new(Refused { error, statement }))
    }

    /// The SQLSTATE, if the server returned one.
    fn state(&self) -> Option<&str> {
        match self {
            Self::Sql(refused) | Self::Unsure(refused) => refused.error.code().map(SqlState::code),
            Self::Moved | Self::Rejected(_) | Self::Unreadable(_) | Self::Unavailable(_) => None,
        }
    }

    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::Moved => Remedy::Again,
            Self::Rejected(_) => Remedy::Bisect,
            Self::Unreadable(_) => Remedy::Tell,
            Self::Unsure(_) | Self::Unavailable(_) => Remedy::Discard,
            Self::Sql(refused) if is_unreadable(&refused.error) => Remedy::Tell,
            Self::Sql(refused) if is_outdated(&refused.error) => Remedy::Afresh,
            Self::Sql(_) => match self.state() {
                Some("40001" | "40P01") => Remedy::Again,
                Some(state) if ["22", "23", "54"].contains(&&state[..2]) => Remedy::Bisect,
                // Lost, shutting down, out of a resource, or now a standby: the next connection may lead elsewhere.
                Some(state) if ["08", "53", "58"].contains(&&state[..2]) => Remedy::Discard,
                Some("57P01" | "57P02" | "57P03" | "57P05" | "25006" | "25P02" | "25P03" | "25P04") => {
                    Remedy::Discard
                }
                Some("26000" | "42P05") => Remedy::Unprepared,
                // The error did not come from the server.
                None => Remedy::Discard,
                Some(_) => Remedy::Tell,
            },
        }
    }

    /// Whether it only reports that an earlier statement of the transaction failed.
    fn is_aftermath(&self) -> bool {
        self.state() == Some("25P02")
    }

    /// Whether the database took longer than it may, and would again.
    pub(crate) fn is_too_slow(&self) -> bool {
        matches!(self.state(), Some("57014" | "55P03"))
    }

    /// Marks a failure of the commit: without an answer from the server, its result is unknown.
    pub(crate) fn at_commit(self) -> Self {
        match self {
            Self::Sql(refused)
                if refused
                    .error
                    .code()
                    .is_none_or(|code| code.code().starts_with("57P")) =>
            {
                Self::Unsure(refused)
            }
            other => other,
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
            Self::Unavailable(message) => Error::Unavailable {
                message: message.clone(),
                source: None,
            },
            Self::Moved => Error::Unavailable {
                message: "other transactions kept changing the same rows".to_owned(),
                source: None,
            },
            Self::Unsure(refused) => Error::unavailable(
                "the connection to the database broke during a commit",
                Arc::clone(refused),
            ),
            Self::Sql(refused) => self.sql_error(refused),
        }
    }

    fn sql_error(&self, refused: &Arc<Refused>) -> Error {
        let unavailable = |what: &str| Error::unavailable(what, Arc::clone(refused));
        let unsupported = |what: &str| Error::Unsupported {
            message: format!("{what} ({refused})"),
        };
        let Some(state) = self.state() else {
            return if is_unreadable(&refused.error) {
                Error::Damaged {
                    message: "a stored row cannot be read".to_owned(),
                    source: Some(Box::new(Arc::clone(refused))),
                }
            } else {
                unavailable("the connection to the database was lost")
            };
        };
        match (&state[..2], state) {
            ("22" | "23" | "54", _) => Error::Rejected {
                message: format!("the database refuses the data: {} ({state})", self.said()),
            },
            (_, "25006") => unavailable("the database is read-only: it may be a standby"),
            ("53", _) => unavailable("the database has run out of disk space, memory or connections"),
            (_, "57014" | "55P03") => unavailable("the database took too long"),
            ("40", _) => unavailable("other transactions kept changing the same rows"),
            (_, "XX001" | "XX002") => Error::Damaged {
                message: "the database reports damaged data: restore a backup".to_owned(),
                source: Some(Box::new(Arc::clone(refused))),
            },
            (_, "42501") => unsupported(
                "the database denies Hapax a privilege that it needs: grant the role in the store's URL all privileges \
                 on the schema `hapax`",
            ),
            (_, "42P01" | "42703" | "42704" | "3F000") => unsupported(
                "the schema `hapax` lacks something that this version of Hapax needs: run the version that set it \
                 up, or restore a backup",
            ),
            ("42" | "0A" | "3F", _) => unsupported(
                "the database does not support a statement of Hapax: compare its version and extensions with the \
                 guide, and report this line",
            ),
            _ => unavailable("the database cannot run the statement now"),
        }
    }

    /// The server's own words.
    fn said(&self) -> &str {
        let said = match self {
            Self::Sql(refused) | Self::Unsure(refused) => refused.error.as_db_error().map(DbError::message),
            Self::Moved | Self::Rejected(_) | Self::Unreadable(_) | Self::Unavailable(_) => None,
        };
        said.unwrap_or("no reason given")
    }
}

/// The results of all pipelined statements, or the reason why one failed. After a failure, the statements that follow
/// only report that the transaction is aborted.
pub(crate) fn all<T>(outcomes: Vec<Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let mut done = Vec::with_capacity(outcomes.len());
    let mut cause: Option<Failure> = None;
    for outcome in outcomes {
        match outcome {
            Ok(one) => done.push(one),
            Err(failure) => {
                if cause
                    .as_ref()
                    .is_none_or(|known| known.is_aftermath() && !failure.is_aftermath())
                {
                    cause = Some(failure);
                }
            }
        }
    }
    cause.map_or(Ok(done), Err)
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_error(), f)
    }
}

/// Whether a prepared statement's columns have changed since it was prepared. Recognised by the name of the server's
/// function: the SQLSTATE covers many other errors, and the message is in the server's language.
fn is_outdated(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)
        && error
            .as_db_error()
            .is_some_and(|said| said.routine() == Some("RevalidateCachedQuery"))
}

/// Whether a value of a row could not be read, which is not the connection's fault. The library reports this as the
/// error's source.
fn is_unreadable(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_none()
        && !error.is_closed()
        && error.source().is_some_and(|source| !source.is::<io::Error>())
}

//! Why a file is not opened.

use std::io;
use std::path::PathBuf;

use rusqlite::ErrorCode;

use crate::failure::Failure;

/// A store could not be opened. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the file open.
    #[error(
        "{} is in use by another process, which holds {}: stop that process, or give this one its own file",
        path.display(), lock.display()
    )]
    AlreadyOpen {
        path: PathBuf,
        /// The lock file next to it.
        lock: PathBuf,
    },
    /// The file is not a Hapax database.
    #[error(
        "the file is not a Hapax database and was not changed: {reason}; use another file, or move this one away"
    )]
    NotADatabase {
        /// What it is instead.
        reason: String,
    },
    /// The file is a database, but a damaged one.
    #[error(
        "the database file is damaged and was not changed: {reason}; keep a copy of it, then restore a backup or \
         salvage it with `sqlite3 FILE .recover`"
    )]
    Damaged {
        reason: String,
        #[source]
        source: Option<rusqlite::Error>,
    },
    /// The file was written by a newer version.
    #[error(
        "the database file has schema version {found}, and this program serves at most version {supported}: run \
         the newer program, or restore a backup from before the upgrade"
    )]
    NewerSchema {
        /// The file's version.
        found: u32,
        /// The newest version this program supports.
        supported: u32,
    },
    /// The file belongs to a migration that was not finished.
    #[error(
        "the database file holds an unfinished store migration and is not served: run `hapax store migrate` again, \
         which resumes where it stopped, or move the file away"
    )]
    UnfinishedMigration,
    /// The file cannot be written.
    #[error(
        "the database file cannot be written: it, its folder or its disk is read-only, or belongs to another user"
    )]
    ReadOnly {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Reading or writing failed.
    #[error("the database file cannot be opened")]
    Io {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl OpenError {
    pub(crate) fn from_sql(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase {
                reason: "it is not an SQLite database".to_owned(),
            },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged {
                reason: "its pages are inconsistent".to_owned(),
                source: Some(error),
            },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly {
                source: Box::new(error),
            },
            Some(_) | None => Self::Io {
                source: Box::new(error),
            },
        }
    }

    pub(crate) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly {
                source: Box::new(error),
            },
            _ => Self::Io {
                source: Box::new(error),
            },
        }
    }

    pub(crate) fn from_failure(failure: &Failure) -> Self {
        match failure {
            Failure::Unreadable(reason) => Self::Damaged {
                reason: reason.clone(),
                source: None,
            },
            Failure::Sql(_) | Failure::Rejected(_) | Failure::Gone(_) => Self::Io {
                source: Box::new(failure.to_error()),
            },
        }
    }
}

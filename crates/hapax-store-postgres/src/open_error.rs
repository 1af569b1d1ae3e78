//! Why a database is not opened.

use std::error::Error as StdError;

use crate::connect::ConnectError;

/// A store could not be opened. No message quotes the URL: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL, or a file that it names, cannot be read.
    #[error("the database's URL cannot be used: {reason}")]
    Url { reason: String },
    /// The server cannot be reached, or it refuses the connection.
    #[error("the database cannot be reached: is it running, and are host, port, name and password correct?")]
    Unreachable {
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server is too old.
    #[error("the database server is version {found}; PostgreSQL 14 or newer is required")]
    OldServer {
        /// The server's version, in its own words.
        found: String,
    },
    /// The server may lose committed transactions.
    #[error(
        "the database runs with {setting} = off, and may lose events that were acknowledged as stored: turn it on, or \
         set `Options::allow_unsafe_durability` if losing events is acceptable"
    )]
    UnsafeDurability {
        /// `fsync` or `synchronous_commit`.
        setting: &'static str,
    },
    /// The schema was written by a newer version.
    #[error(
        "the schema `hapax` in the database has version {found}, and this program serves at most version \
         {supported}: run the newer program, or restore a backup from before the upgrade"
    )]
    NewerSchema {
        /// The database's version.
        found: u32,
        /// The newest version this program supports.
        supported: u32,
    },
    /// A schema with this name exists and is not ours.
    #[error("the schema `hapax` in the database belongs to another program and was not changed")]
    NotOurs,
    /// The database belongs to a migration that was not finished.
    #[error(
        "the schema `hapax` in the database holds an unfinished store migration and is not served: run \
         `hapax store migrate` again, which resumes where it stopped, or drop the schema"
    )]
    UnfinishedMigration,
    /// Reading or migrating the schema failed.
    #[error("the schema `hapax` cannot be set up in the database")]
    Database {
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl OpenError {
    pub(crate) fn database(error: tokio_postgres::Error) -> Self {
        Self::Database {
            source: Box::new(error),
        }
    }

    pub(crate) fn unreachable(error: ConnectError) -> Self {
        Self::Unreachable {
            source: Box::new(error),
        }
    }
}

//! One process per file: a lock file next to the database, held as long as the store is open.
//!
//! SQLite's own locks admit several processes. This store's leases belong to one process, so a second one would treat
//! them all as void.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::private::{self, beside};

/// The lock, released when it is dropped and however the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Why the lock was not taken.
#[derive(Debug)]
pub(crate) enum NotLocked {
    /// Another process holds it.
    Held,
    /// The lock file cannot be created or locked.
    Io(io::Error),
}

impl Lock {
    /// Takes the lock of the database at `path`, or fails without waiting.
    pub(crate) fn take(path: &Path) -> Result<Self, NotLocked> {
        let file = private::creating().open(lock_path(path)).map_err(NotLocked::Io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(NotLocked::Held),
            Err(TryLockError::Error(error)) => Err(NotLocked::Io(error)),
        }
    }
}

/// The path of the lock file for the database at `path`.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    beside(path, ".lock")
}

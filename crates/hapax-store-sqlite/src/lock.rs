//! One process for each file: a lock beside the database, held as long as the store is open.
//!
//! SQLite's own locks let several processes in; leases of this store live in one process, so a
//! second one would take them all for void.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::private;

/// The lock, released when dropped or when the process ends in any way.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Why the lock was not taken.
#[derive(Debug)]
pub(crate) enum NotLocked {
    /// Another process has it.
    Held,
    /// The lock file cannot be made or locked.
    Io(io::Error),
}

impl Lock {
    /// Takes the lock of the database at `path`, at once or not at all.
    pub(crate) fn take(path: &Path) -> Result<Self, NotLocked> {
        let file = private::creating().open(lock_path(path)).map_err(NotLocked::Io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(NotLocked::Held),
            Err(TryLockError::Error(error)) => Err(NotLocked::Io(error)),
        }
    }
}

/// Where the lock of the database at `path` lies.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    beside(path, ".lock")
}

/// The database's path with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

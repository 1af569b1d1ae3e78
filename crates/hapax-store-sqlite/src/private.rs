//! The store's files are accessible to their owner only, whatever the umask: they hold everything that ever arrived.
//!
//! SQLite gives the files that it creates next to the database (`-wal`, `-shm`) the mode of the database itself.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

const OWNER_ONLY: u32 = 0o600;
/// The permission bits of group and others.
const OTHERS: u32 = 0o077;

/// The database's path with a suffix.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The options for creating a file of the store.
pub(crate) fn creating() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(OWNER_ONLY);
    options
}

/// Creates the database file if it is missing, and removes other users' access to it and the files next to it.
pub(crate) fn prepare(path: &Path) -> io::Result<()> {
    // SQLite would create it according to the umask. Closing a file releases the process's locks on it; there are none
    // yet.
    drop(creating().open(path)?);
    for suffix in ["", "-wal", "-shm", "-journal", ".lock"] {
        tighten(&beside(path, suffix));
    }
    Ok(())
}

/// A file that belongs to another user and that we may use but not change stays as it is: that is the operator's
/// choice.
fn tighten(path: &Path) {
    let Ok(mode) = std::fs::metadata(path).map(|data| data.permissions().mode()) else {
        return;
    };
    if mode & OTHERS == 0 {
        return;
    }
    let before = format!("{:04o}", mode & 0o7777);
    let file = path.display();
    match std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS)) {
        Ok(()) => tracing::warn!(
            %file,
            before,
            "the file was open to other users of this machine; now only its owner may use it"
        ),
        Err(error) => tracing::warn!(
            %file,
            before,
            %error,
            "the file is open to other users of this machine, and that cannot be changed; its owner should run chmod go= on it"
        ),
    }
}

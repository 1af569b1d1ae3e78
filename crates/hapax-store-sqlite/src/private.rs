//! The store's files are for their owner alone, whatever the umask is: they hold everything that ever arrived.
//!
//! SQLite gives the files that it makes beside the database (`-wal`, `-shm`) the mode of the database itself.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::lock::beside;

const OWNER_ONLY: u32 = 0o600;
/// What is of no one's business but the owner's.
const OTHERS: u32 = 0o077;

/// How a file of the store is created.
pub(crate) fn creating() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(OWNER_ONLY);
    options
}

/// Makes the database's file where it is missing, and takes it and those beside it away from others.
pub(crate) fn prepare(path: &Path) -> io::Result<()> {
    // SQLite would make it by the umask. Closing a file ends the process's locks on it; no one here has any yet.
    drop(creating().open(path)?);
    for suffix in ["", "-wal", "-shm", "-journal", ".lock"] {
        tighten(&beside(path, suffix));
    }
    Ok(())
}

/// A file of someone else that we may use but not change stays as it is: that is the operator's choice.
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

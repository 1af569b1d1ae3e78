//! The servers' folders: under the target folder, where the server's user can reach them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::ServerError;
use crate::program::is_root;

/// A socket's path may have at most 107 bytes.
const SOCKET_PATH_MAX: usize = 85;

/// The folder for all servers of this build.
pub(crate) fn base() -> Result<PathBuf, ServerError> {
    let under_target = std::env::current_exe().ok().and_then(|program| {
        // target/debug/deps/test-1234
        let deps = program.parent().filter(|folder| folder.ends_with("deps"))?;
        Some(deps.parent()?.parent()?.join("tmp"))
    });
    let base = under_target
        .filter(|folder| can_be_reached(folder))
        .unwrap_or_else(std::env::temp_dir)
        .join("hapax-test-postgres");
    std::fs::create_dir_all(&base).map_err(|source| ServerError::Io {
        what: "making a folder for the server",
        source,
    })?;
    Ok(base)
}

/// Whether another user can traverse every parent folder.
fn can_be_reached(folder: &Path) -> bool {
    !is_root()
        || folder.ancestors().all(|folder| {
            std::fs::metadata(folder).map_or(true, |metadata| metadata.permissions().mode() & 0o001 != 0)
        })
}

/// The folder for a server's socket, if its path is short enough.
pub(crate) fn socket_folder(folder: &Path) -> String {
    let text = folder.display().to_string();
    if text.len() <= SOCKET_PATH_MAX {
        text
    } else {
        String::new()
    }
}

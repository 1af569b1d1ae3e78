//! The servers' folders and ports.

use std::net::TcpListener;
use std::path::PathBuf;

use crate::ServerError;

/// Below the ports that the system gives to outgoing connections, and apart from those that the end-to-end tests give
/// to services, so that a killed server finds its port free again.
const PORTS: std::ops::Range<u16> = 9_000..12_000;
/// How many ports are tried.
const PORTS_TRIED_MAX: usize = 100;

/// The folder for all servers of this build.
pub(crate) fn base() -> Result<PathBuf, ServerError> {
    let under_target = std::env::current_exe().ok().and_then(|program| {
        // target/debug/deps/test-1234
        let deps = program.parent().filter(|folder| folder.ends_with("deps"))?;
        Some(deps.parent()?.parent()?.join("tmp"))
    });
    let base = under_target
        .unwrap_or_else(std::env::temp_dir)
        .join("hapax-test-redis");
    std::fs::create_dir_all(&base).map_err(ServerError::io("making a folder for servers"))?;
    Ok(base)
}

/// A new folder for one private server.
pub(crate) fn private() -> Result<PathBuf, ServerError> {
    let folder = base()?.join(format!("private-{:016x}", fastrand::u64(..)));
    std::fs::create_dir_all(&folder).map_err(ServerError::io("making a folder for the server"))?;
    Ok(folder)
}

/// A port that no one listens on. Another process may take it before the server does, so starting is tried on several.
pub(crate) fn free_port() -> Result<u16, ServerError> {
    for _ in 0..PORTS_TRIED_MAX {
        let port = fastrand::u16(PORTS);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Err(ServerError::Failed {
        what: "looking for a free port",
        said: format!("{PORTS_TRIED_MAX} ports were tried, and all are in use"),
    })
}

//! The server in a folder: its data created, its processes started, found and stopped.

use std::io::ErrorKind;
use std::path::Path;

use crate::ServerError;
use crate::folder::socket_folder;
use crate::port::free_port;
use crate::program::{command, give, programs, run};

/// How many ports are tried.
const PORTS_MAX: usize = 5;

/// How a server is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Ends sessions, and writes everything out.
    Fast,
    /// Like a crash: the next start recovers.
    Immediate,
}

impl Stop {
    const fn mode(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Immediate => "immediate",
        }
    }
}

/// Creates a server's folder and data.
pub(crate) fn create(folder: &Path, settings: &[&str]) -> Result<(), ServerError> {
    let io = |what: &'static str| move |source| ServerError::Io { what, source };
    std::fs::create_dir_all(folder).map_err(io("making a folder for the server"))?;
    give(folder)?;
    let mut initdb = command(&programs()?.join("initdb"));
    initdb
        .args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--no-locale",
            "-D",
        ])
        .arg(folder.join("data"));
    run(&mut initdb, "initdb")?;
    // Room for several concurrent test processes, each with a few pools.
    let configuration = format!(
        "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nmax_connections = 300\n\
         shared_buffers = 128MB\n{}\n",
        socket_folder(folder),
        settings.join("\n")
    );
    let path = folder.join("data").join("postgresql.conf");
    let mut text = std::fs::read_to_string(&path).map_err(io("reading the server's configuration"))?;
    text.push_str(&configuration);
    std::fs::write(&path, text).map_err(io("writing the server's configuration"))
}

/// Starts a server on a free port, and returns the port.
pub(crate) fn start(folder: &Path) -> Result<u16, ServerError> {
    let mut outcome = Ok(0);
    for _ in 0..PORTS_MAX {
        let port = free_port()?;
        // Another process may take the port between our check and the server's start.
        outcome = launch(folder, port).map(|()| port);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

pub(crate) fn launch(folder: &Path, port: u16) -> Result<(), ServerError> {
    let mut pg_ctl = command(&programs()?.join("pg_ctl"));
    pg_ctl
        .args(["start", "--wait", "--timeout=60", "-D"])
        .arg(folder.join("data"))
        .arg("-l")
        .arg(folder.join("log"))
        .arg("-o")
        .arg(format!("-p {port}"));
    // The server outlives this command. It must not inherit a pipe of ours, so nothing is captured.
    let status = pg_ctl.status().map_err(|source| ServerError::Io {
        what: "starting the server",
        source,
    })?;
    if status.success() {
        return Ok(());
    }
    Err(ServerError::Failed {
        what: "starting the server",
        said: std::fs::read_to_string(folder.join("log")).unwrap_or_default(),
    })
}

pub(crate) fn halt(folder: &Path, stop: Stop) -> Result<(), ServerError> {
    let mut pg_ctl = command(&programs()?.join("pg_ctl"));
    pg_ctl
        .args(["stop", "--wait", "--timeout=60", "--mode", stop.mode(), "-D"])
        .arg(folder.join("data"));
    run(&mut pg_ctl, "stopping the server")
}

/// The first process, whose pid is in a file while it runs, and its children.
pub(crate) fn processes(folder: &Path) -> std::io::Result<Vec<String>> {
    let gone = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
    let first = match std::fs::read_to_string(folder.join("data").join("postmaster.pid")) {
        Ok(text) => text.lines().next().unwrap_or_default().to_owned(),
        Err(error) if gone(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let children = match std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")) {
        Ok(children) => children,
        Err(error) if gone(&error) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut all = vec![first];
    all.extend(children.split_whitespace().map(str::to_owned));
    Ok(all)
}

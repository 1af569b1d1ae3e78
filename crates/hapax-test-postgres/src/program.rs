//! Finds the installed programs, and runs them as a user that they accept.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ServerError;

/// Where Debian installs PostgreSQL, one folder per version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// Names a folder with other programs.
const NAMED: &str = "HAPAX_TEST_POSTGRES_BIN";
/// The user to run as: PostgreSQL refuses to run as root.
const USER: &str = "postgres";

/// The folder with the programs: the configured one, or that of the newest installed version.
pub(crate) fn programs() -> Result<PathBuf, ServerError> {
    match named() {
        Some(folder) => checked(folder),
        None => newest(),
    }
}

/// The configured folder.
pub(crate) fn named() -> Option<PathBuf> {
    std::env::var_os(NAMED).map(PathBuf::from)
}

/// Refuses a folder without programs: otherwise another version would be tested unnoticed.
fn checked(folder: PathBuf) -> Result<PathBuf, ServerError> {
    if folder.join("initdb").exists() {
        return Ok(folder);
    }
    Err(ServerError::NoPrograms {
        folder: folder.display().to_string(),
    })
}

fn newest() -> Result<PathBuf, ServerError> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(VERSIONS)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let version = path.file_name()?.to_str()?.parse().ok()?;
            let programs = path.join("bin");
            programs.join("initdb").exists().then_some((version, programs))
        })
        .collect();
    found.sort();
    found
        .pop()
        .map(|(_, programs)| programs)
        .ok_or(ServerError::NotInstalled)
}

/// A command that runs as the right user, without any of our open files.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"])
            .arg(program);
        command
    } else {
        Command::new(program)
    };
    command
        .current_dir("/")
        .env_remove("PGDATA")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Runs a command to its end. Its output is part of the error.
pub(crate) fn run(command: &mut Command, what: &'static str) -> Result<(), ServerError> {
    printed(command, what).map(|_| ())
}

/// Runs a command to its end. Returns its output.
pub(crate) fn printed(command: &mut Command, what: &'static str) -> Result<Vec<u8>, ServerError> {
    let output = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output()
        .map_err(|source| ServerError::Io { what, source })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(ServerError::Failed { what, said })
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Gives a folder to the server's user.
pub(crate) fn give(folder: &Path) -> Result<(), ServerError> {
    if !is_root() {
        return Ok(());
    }
    run(
        Command::new("chown").arg(format!("{USER}:{USER}")).arg(folder),
        "giving a folder to the server's user",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_server_is_refused_rather_than_passed_over() {
        let refused = checked(PathBuf::from("/nowhere")).map_err(|error| error.to_string());
        let said =
            "HAPAX_TEST_POSTGRES_BIN names /nowhere, which has no `initdb`: name the `bin` of a PostgreSQL";
        assert_eq!(refused, Err(said.to_owned()));
    }
}

//! The binary as a command: arguments in, exit code and both outputs out.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use super::within;

/// No command of a test takes longer.
const COMMAND_LIMIT: Duration = Duration::from_secs(90);

/// Variables that would change what the binary does.
const FOREIGN_VARIABLES: [&str; 7] = [
    "HAPAX_CONFIG",
    "HAPAX_ADMIN_URL",
    "HAPAX_ADMIN_TOKEN",
    "HAPAX_ADMIN_CA",
    "HAPAX_ADMIN_CERT",
    "NO_COLOR",
    "RUST_LOG",
];

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that it succeeded, and reads what it printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        self.assert_code(0);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The same for verbs that print one document on each line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.assert_code(0);
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// The binary that is tested: the one that was built with the tests, unless `HAPAX_TEST_BINARY` names another.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("HAPAX_TEST_BINARY")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_hapax")), PathBuf::from)
}

/// The binary, in this directory, with a clean environment.
pub(crate) fn hapax(directory: &Path) -> Command {
    let mut command = Command::new(binary());
    command
        .current_dir(directory)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    for name in FOREIGN_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// Runs it to its end.
pub(crate) async fn run(directory: &Path, arguments: &[&str]) -> Outcome {
    finish(hapax(directory).args(arguments)).await
}

/// Runs a prepared command to its end.
pub(crate) async fn finish(command: &mut Command) -> Outcome {
    let what = format!("{command:?} ends");
    let output = within(&what, COMMAND_LIMIT, command.output()).await.unwrap();
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

//! The binary as a command: arguments in, exit code and both outputs out.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
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
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that it succeeded, and reads what it printed.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.assert_code(0);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The same for verbs that print one document on each line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.assert_code(0);
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// The binary that is tested: the one in the folder of this build, unless `HAPAX_TEST_BINARY` names another.
pub fn binary() -> PathBuf {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        // `target/debug/deps/e2e-…` is beside `target/debug/hapax`.
        let test = std::env::current_exe().unwrap();
        let binary = test.ancestors().nth(2).unwrap().join("hapax");
        assert_is_fresh(&binary);
        binary
    });
    std::env::var_os("HAPAX_TEST_BINARY").map_or_else(|| BUILT.clone(), PathBuf::from)
}

/// Fails if a source has changed since the binary was built: cargo builds it only for tests of its own package.
fn assert_is_fresh(binary: &Path) {
    let modified = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified());
    let built = modified(binary).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; `cargo build --bin hapax` makes it",
            binary.display()
        );
    });
    let sources = std::fs::read_to_string(binary.with_extension("d")).unwrap();
    let (_, sources) = sources.split_once(": ").unwrap();
    for source in sources.replace("\\ ", "\0").split_whitespace() {
        let source = source.replace('\0', " ");
        assert!(
            modified(Path::new(&source)).is_ok_and(|changed| changed <= built),
            "{} is older than {source}; run `cargo build --bin hapax`",
            binary.display()
        );
    }
}

/// The binary, in this directory, with a clean environment.
pub fn hapax(directory: &Path) -> Command {
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
pub async fn run(directory: &Path, arguments: &[&str]) -> Outcome {
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

//! The binary as a command: arguments in; exit code, stdout and stderr out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use super::within;

/// The limit for every command of a test.
const COMMAND_LIMIT: Duration = Duration::from_secs(90);

/// Variables that would change the binary's behaviour.
const FOREIGN_VARIABLES: [&str; 7] = [
    "HAPAX_CONFIG",
    "HAPAX_ADMIN_URL",
    "HAPAX_ADMIN_TOKEN",
    "HAPAX_ADMIN_CA",
    "HAPAX_ADMIN_CERT",
    "NO_COLOR",
    "RUST_LOG",
];

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

    /// Asserts that it succeeded, and parses its output.
    #[track_caller]
    pub fn json(&self) -> Value {
        self.assert_code(0);
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The same for commands that print one document per line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.assert_code(0);
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// The binary under test: the one in this build's folder, unless `HAPAX_TEST_BINARY` names another.
pub fn binary() -> PathBuf {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        // `target/debug/deps/e2e-…` is next to `target/debug/hapax`.
        let test = std::env::current_exe().unwrap();
        let binary = test.ancestors().nth(2).unwrap().join("hapax");
        assert_is_fresh(&binary);
        binary
    });
    std::env::var_os("HAPAX_TEST_BINARY").map_or_else(|| BUILT.clone(), PathBuf::from)
}

/// Fails if a source file has changed since the binary was built: cargo builds it only for tests of its own package.
fn assert_is_fresh(binary: &Path) {
    let built = std::fs::metadata(binary)
        .and_then(|file| file.modified())
        .unwrap_or_else(|error| {
            panic!(
                "{}: {error}; `cargo build --bin hapax` makes it",
                binary.display()
            );
        });
    let mut folders: Vec<PathBuf> = linked_crates().iter().map(|krate| krate.join("src")).collect();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, metadata) = (entry.path(), entry.metadata().unwrap());
            assert!(
                path.extension().is_none_or(|extension| extension != "rs")
                    || metadata.modified().unwrap() <= built,
                "{} is older than {}; run `cargo build --bin hapax`",
                binary.display(),
                path.display()
            );
            folders.extend(metadata.is_dir().then_some(path));
        }
    }
}

/// The crates of this repository that are in the binary, as their manifests say.
fn linked_crates() -> BTreeSet<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut found, mut wanted) = (BTreeSet::new(), vec![crates.join("hapax-cli")]);
    while let Some(krate) = wanted.pop() {
        let manifest = std::fs::read_to_string(krate.join("Cargo.toml")).unwrap();
        let (_, dependencies) = manifest.split_once("\n[dependencies]\n").unwrap_or_default();
        let names = dependencies.lines().take_while(|line| !line.starts_with('['));
        let needed = names.filter_map(|line| line.split(['.', ' ']).next().filter(|name| !name.is_empty()));
        if found.insert(krate.clone()) {
            wanted.extend(needed.map(|name| crates.join(name)).filter(|path| path.is_dir()));
        }
    }
    found
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

/// Runs it to the end.
pub async fn run(directory: &Path, arguments: &[&str]) -> Outcome {
    finish(hapax(directory).args(arguments)).await
}

/// Runs a prepared command to the end.
pub(crate) async fn finish(command: &mut Command) -> Outcome {
    let what = format!("{command:?} ends");
    let output = within(&what, COMMAND_LIMIT, command.output()).await.unwrap();
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

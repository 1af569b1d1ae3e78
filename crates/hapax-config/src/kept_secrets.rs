//! The last values read from files and commands, to detect changes and to continue while a command fails.

mod command;
mod words;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use hapax_core::Secret;
use parking_lot::{Mutex, MutexGuard};

use super::origins::Origins;
use super::secret_origin::SecretOrigin;
pub use command::{CommandError, ENVIRONMENT_OF_COMMANDS};
pub use words::WordsError;

/// The largest secret, in bytes. A secret is a single line.
const SECRET_BYTES_MAX: u64 = 64 * 1024;

/// Why a secret cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The reference has no name.
    #[error("`{0}` has no name after the colon: write \"env:NAME\", \"file:PATH\" or \"exec:COMMAND\"")]
    NameMissing(&'static str),
    #[error("the environment variable {0} is not set; set it, or use another one with \"env:NAME\"")]
    VariableNotSet(String),
    #[error("the environment variable {0} is not UTF-8")]
    VariableNotUtf8(String),
    #[error("the file {} cannot be read ({error})", path.display())]
    FileUnreadable { path: PathBuf, error: std::io::Error },
    /// The file is too large to be a secret.
    #[error("the file {} is larger than {SECRET_BYTES_MAX} bytes, so it is not a secret", .0.display())]
    FileTooLarge(PathBuf),
    #[error("the file {} is not UTF-8", .0.display())]
    FileNotUtf8(PathBuf),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("the secret from {0} is empty")]
    Empty(SecretOrigin),
}

/// The files and commands that secrets came from. Clones share the same state.
#[derive(Clone, Default)]
pub struct KeptSecrets(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// A hash of each file's content; `None` if the file could not be read.
    files: BTreeMap<PathBuf, Option<Vec<u8>>>,
    commands: BTreeMap<String, Printed>,
}

struct Printed {
    value: Secret,
    at: Instant,
    /// The keys that use it.
    paths: Vec<String>,
}

impl KeptSecrets {
    /// Reads a file, which is watched from now on.
    pub fn file(&self, path: &Path) -> Result<Vec<u8>, SecretError> {
        let content = read_file(path);
        self.lock().files.insert(path.to_owned(), hash(&content));
        content
    }

    /// The last output of a command. Runs the command if it has not run yet.
    pub(super) fn command(&self, text: &str, variables: &[(&str, &OsStr)]) -> Result<String, SecretError> {
        if let Some(printed) = self.lock().commands.get(text) {
            return Ok(printed.value.expose().to_owned());
        }
        let value = printed(text, variables)?;
        let kept = Printed {
            value: Secret::new(value.as_str()),
            at: Instant::now(),
            paths: Vec::new(),
        };
        self.lock().commands.insert(text.to_owned(), kept);
        Ok(value)
    }

    /// Runs every command again and returns those with new output. A command that fails keeps its value.
    pub(super) fn refresh(&self, variables: &[(&str, &OsStr)]) -> Vec<SecretOrigin> {
        let commands: Vec<String> = self.lock().commands.keys().cloned().collect();
        let changed = commands
            .into_iter()
            .filter(|text| self.has_changed(text, variables));
        changed.map(SecretOrigin::Command).collect()
    }

    fn has_changed(&self, text: &str, variables: &[(&str, &OsStr)]) -> bool {
        let result = printed(text, variables);
        let mut inner = self.lock();
        let Some(kept) = inner.commands.get_mut(text) else {
            return false;
        };
        match result {
            Ok(value) => {
                kept.at = Instant::now();
                let has_changed = kept.value.expose() != value;
                kept.value = Secret::new(value);
                has_changed
            }
            Err(error) => {
                tracing::warn!(
                    secrets = kept.paths.join(", "),
                    age_s = kept.at.elapsed().as_secs(),
                    %error,
                    "a secret could not be refreshed; its previous value stays in use"
                );
                false
            }
        }
    }

    /// The files whose content has changed.
    pub fn changed_files(&self) -> Vec<SecretOrigin> {
        let paths: Vec<PathBuf> = self.lock().files.keys().cloned().collect();
        let changed = paths.into_iter().filter(|path| {
            let now = hash(&read_file(path));
            let mut inner = self.lock();
            let before = inner.files.insert(path.clone(), now.clone());
            before != Some(now)
        });
        changed.map(SecretOrigin::File).collect()
    }

    /// Forgets files and commands that the configuration no longer names.
    pub fn retain(&self, origins: &Origins, dotenv: Option<&Path>) {
        let mut inner = self.lock();
        inner.files.retain(|path, _| {
            let named = |(_, origin): (&String, &SecretOrigin)| matches!(origin, SecretOrigin::File(file) if file == path);
            dotenv == Some(path) || origins.secrets().any(named)
        });
        inner.commands.retain(|text, printed| {
            let named = |(path, origin): (&String, &SecretOrigin)| match origin {
                SecretOrigin::Command(command) if command == text => Some(path.clone()),
                _ => None,
            };
            printed.paths = origins.secrets().filter_map(named).collect();
            !printed.paths.is_empty()
        });
    }

    /// How long ago each command last printed its secret, by the key that uses it.
    pub fn ages(&self) -> Vec<(String, Duration)> {
        let inner = self.lock();
        let of_command = |printed: &Printed| {
            let age = printed.at.elapsed();
            let paths = printed.paths.iter();
            paths.map(|path| (path.clone(), age)).collect::<Vec<_>>()
        };
        inner.commands.values().flat_map(of_command).collect()
    }

    /// A panicking thread leaves consistent state, because every change here is a single step.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }
}

/// A command's output. Empty output is an error: a tool that is signed out may print nothing and still succeed.
fn printed(text: &str, variables: &[(&str, &OsStr)]) -> Result<String, SecretError> {
    let value = without_line_end(command::run(text, variables)?);
    if value.is_empty() {
        return Err(SecretError::Empty(SecretOrigin::Command(text.to_owned())));
    }
    Ok(value)
}

fn read_file(path: &Path) -> Result<Vec<u8>, SecretError> {
    let unreadable = |error| SecretError::FileUnreadable {
        path: path.to_owned(),
        error,
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(SECRET_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > SECRET_BYTES_MAX {
        return Err(SecretError::FileTooLarge(path.to_owned()));
    }
    Ok(bytes)
}

/// Removes the line ending that editors and `echo` add to a secret.
pub(super) fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

fn hash(content: &Result<Vec<u8>, SecretError>) -> Option<Vec<u8>> {
    let bytes = content.as_ref().ok()?;
    Some(digest(&SHA256, bytes).as_ref().to_vec())
}

impl std::fmt::Debug for KeptSecrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KeptSecrets").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    fn environment() -> Environment {
        Environment::with([("PATH", Environment::of_process().text("PATH").unwrap())])
    }

    #[test]
    fn a_command_that_fails_keeps_its_last_value() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("value");
        let (kept, text) = (KeptSecrets::default(), format!("cat {}", file.display()));
        assert!(
            kept.command(&text, &environment().of_commands()).is_err(),
            "there is none yet"
        );
        std::fs::write(&file, "first\n").unwrap();
        assert_eq!(
            kept.command(&text, &environment().of_commands()).unwrap(),
            "first"
        );
        assert_eq!(kept.refresh(&environment().of_commands()), []);
        for broken in [None, Some("\n")] {
            match broken {
                None => std::fs::remove_file(&file).unwrap(),
                Some(content) => std::fs::write(&file, content).unwrap(),
            }
            assert_eq!(kept.refresh(&environment().of_commands()), []);
            assert_eq!(
                kept.command(&text, &environment().of_commands()).unwrap(),
                "first"
            );
        }
        std::fs::write(&file, "second").unwrap();
        assert_eq!(
            kept.refresh(&environment().of_commands()),
            [SecretOrigin::Command(text.clone())]
        );
        assert_eq!(
            kept.command(&text, &environment().of_commands()).unwrap(),
            "second"
        );
    }

    #[test]
    fn a_file_has_changed_when_its_content_has_by_a_write_or_by_a_symlink_swap() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // The layout in which Kubernetes mounts a secret: file -> ..data/file, ..data -> a folder that is replaced as a
        // whole.
        for (version, content) in [("v1", "first"), ("v2", "second")] {
            std::fs::create_dir(path(version)).unwrap();
            std::fs::write(path(version).join("secret"), content).unwrap();
        }
        std::os::unix::fs::symlink("v1", path("..data")).unwrap();
        std::os::unix::fs::symlink("..data/secret", path("secret")).unwrap();
        let kept = KeptSecrets::default();
        assert_eq!(kept.file(&path("secret")).unwrap(), b"first");
        assert_eq!(kept.changed_files(), []);
        std::os::unix::fs::symlink("v2", path("..new")).unwrap();
        std::fs::rename(path("..new"), path("..data")).unwrap();
        let changed = [SecretOrigin::File(path("secret"))];
        assert_eq!(kept.changed_files(), changed);
        assert_eq!(kept.changed_files(), [], "it is said once");
        std::fs::write(path("v2").join("secret"), "third").unwrap();
        assert_eq!(kept.changed_files(), changed);
        std::fs::remove_file(path("secret")).unwrap();
        assert_eq!(kept.changed_files(), changed);
        assert_eq!(kept.changed_files(), []);
    }
}

//! The folder of `hapax dev`: a store and a secret for each provider, the same on every start, for its owner only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hapax_core::SystemRandom;
use hapax_verify::catalogue;
use hapax_verify::sign::generate_secret;

const SECRETS_FILE: &str = "secrets.toml";
const STORE_FILE: &str = "dev.db";
/// What the destination of `--forward` is called.
const FORWARD: &str = "forward";

/// The folder, with its secrets read.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    secrets: BTreeMap<String, String>,
}

impl Folder {
    /// Opens it; makes it and what is missing in it.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| {
                format!(
                    "the folder {} cannot be made; `--dir` names another",
                    path.display()
                )
            })?;
        // Secrets do not belong into anybody's repository.
        write(&path.join(".gitignore"), "*\n")?;
        let file = path.join(SECRETS_FILE);
        let mut secrets = read(&file)?;
        let known = secrets.len();
        for provider in catalogue::all() {
            if !secrets.contains_key(&provider.name) {
                let mut random = [0; 32];
                SystemRandom::new().fill(&mut random)?;
                secrets.insert(
                    provider.name.clone(),
                    generate_secret(provider, &random).verifying,
                );
            }
        }
        if secrets.len() > known {
            write(&file, &toml::to_string(&secrets)?)?;
        }
        // What the catalogue does not know any more stays in the file, and is not served.
        secrets.retain(|name, _| catalogue::get(name).is_some());
        Ok(Self {
            path: path.to_owned(),
            secrets,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Each provider's secret.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.secrets
            .iter()
            .map(|(name, secret)| (name.as_str(), secret.as_str()))
    }

    /// The environment in which [`Folder::configuration`] is read.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        self.secrets()
            .map(|(name, secret)| (variable(name), secret.to_owned()))
            .collect()
    }

    /// The configuration as text.
    pub(super) fn configuration(&self, port: u16, admin_port: u16, forward: Option<&str>) -> String {
        let store = format!("sqlite:{}", self.path.join(STORE_FILE).display());
        let mut text = format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\nadmin_listen = \"127.0.0.1:{admin_port}\"\n\n[store]\nurl = {}\n",
            quoted(&store)
        );
        let deliver_to = if forward.is_some() {
            format!("[\"{FORWARD}\"]")
        } else {
            "[]".to_owned()
        };
        for (name, _) in self.secrets() {
            // Writing to a String cannot fail, here and below.
            let _ = write!(
                text,
                "\n[sources.{name}]\nprovider = \"{name}\"\nsecrets = [\"env:{}\"]\ndeliver_to = {deliver_to}\n",
                variable(name)
            );
        }
        if let Some(url) = forward {
            let _ = write!(
                text,
                "\n[destinations.{FORWARD}]\nkind = \"http\"\nurl = {}\n",
                quoted(url)
            );
        }
        text
    }
}

fn variable(provider: &str) -> String {
    format!("SECRET_OF_{}", provider.to_ascii_uppercase().replace('-', "_"))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn read(file: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    match fs::read_to_string(file) {
        // The error would show the line, and with it a secret.
        Ok(text) => toml::from_str(&text).map_err(|_| {
            anyhow::anyhow!(
                "{} is not what `hapax dev` wrote; remove it, and new secrets are made",
                file.display()
            )
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", file.display())),
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| {
        format!(
            "{} cannot be written; `--dir` names another folder",
            file.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::config::{Environment, parse};

    #[test]
    fn secrets_are_made_once_and_only_their_owner_can_read_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dev");
        let first = Folder::open(&path).unwrap();
        let second = Folder::open(&path).unwrap();
        assert_eq!(first.variables(), second.variables());
        assert_eq!(first.secrets().count(), catalogue::all().len());
        let mode = fs::metadata(path.join(SECRETS_FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_is_not_ours_is_refused_without_showing_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(SECRETS_FILE), "stripe = hunter2").unwrap();
        let message = format!("{:#}", Folder::open(dir.path()).unwrap_err());
        assert!(
            message.contains("remove it") && !message.contains("hunter2"),
            "{message}"
        );
    }

    #[test]
    fn the_configuration_is_one_that_serve_would_take() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let variables = folder.variables();
        let environment = Environment::with(
            variables
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        for forward in [None, Some("http://127.0.0.1:3000/hook?a='b'")] {
            let text = folder.configuration(0, 0, forward);
            let config = parse(&text, Path::new("dev"), &environment, &[]).unwrap();
            assert_eq!(config.sources.len(), catalogue::all().len());
            assert!(config.server.listen.ip().is_loopback() && config.server.admin_listen.ip().is_loopback());
            assert_eq!(config.destinations.len(), usize::from(forward.is_some()));
        }
    }
}

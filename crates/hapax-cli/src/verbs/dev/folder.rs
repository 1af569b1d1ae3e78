//! The folder of `hapax dev`: a store and a secret for each provider, stable across starts, readable only by its owner.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hapax_core::SystemRandom;
use hapax_verify::catalogue::{self, Provider};
use hapax_verify::sign::{SecretPair, generate_secret};
use serde::{Deserialize, Serialize};

use crate::verbs::providers::words;
use hapax_config::Environment;

const SECRETS_FILE: &str = "secrets.toml";
/// The entry in the secrets file for the key that encrypts secrets sent by providers. No provider has this name.
const STATE_KEY: &str = "state_key";
const STORE_FILE: &str = "dev.db";
/// The name of the destination for `--forward`.
const FORWARD: &str = "forward";

pub(in crate::verbs) const FOLDER_DEFAULT: &str = ".hapax";

/// The folder, with its secrets read.
pub(super) struct Folder {
    path: PathBuf,
    secrets: BTreeMap<String, Kept>,
    state_key: String,
}

/// A secret as stored in the file.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Kept {
    Shared(String),
    Pair { signing: String, verifying: String },
}

impl std::fmt::Debug for Folder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Secrets are left out on purpose.
        formatter
            .debug_struct("Folder")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl From<SecretPair> for Kept {
    fn from(pair: SecretPair) -> Self {
        if pair.signing == pair.verifying {
            return Self::Shared(pair.signing);
        }
        Self::Pair {
            signing: pair.signing,
            verifying: pair.verifying,
        }
    }
}

impl Kept {
    fn signing(&self) -> &str {
        match self {
            Self::Shared(secret) => secret,
            Self::Pair { signing, .. } => signing,
        }
    }

    fn verifying(&self) -> &str {
        match self {
            Self::Shared(secret) => secret,
            Self::Pair { verifying, .. } => verifying,
        }
    }
}

/// The secret that `hapax dev` with this folder would let a provider sign with.
pub(in crate::verbs) fn signing_secret(
    folder: &Path,
    provider: &str,
    environment: &Environment,
) -> Option<String> {
    let mut secrets = read(&folder.join(SECRETS_FILE)).ok()?;
    overlay(&mut secrets, environment);
    Some(secrets.get(provider)?.signing().to_owned())
}

/// Applies the user's own secrets from environment variables. A key pair has two halves and stays as it is.
fn overlay(secrets: &mut BTreeMap<String, Kept>, environment: &Environment) {
    for (name, kept) in secrets {
        if let (Kept::Shared(secret), Some(own)) = (kept, environment.text(&variable(name))) {
            own.clone_into(secret);
        }
    }
}

impl Folder {
    /// Opens the folder; creates it and anything missing in it.
    pub(super) fn open(path: &Path, environment: &Environment) -> anyhow::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| {
                format!(
                    "the folder {} cannot be created; choose another with `--dir`",
                    path.display()
                )
            })?;
        tighten(path, 0o700)?;
        // Secrets do not belong in a repository.
        write(&path.join(".gitignore"), "*\n")?;
        let file = path.join(SECRETS_FILE);
        let mut secrets = read(&file)?;
        if file.exists() {
            tighten(&file, 0o600)?;
        }
        let known = secrets.len();
        for provider in catalogue::all() {
            if !secrets.contains_key(&provider.name) {
                let pair = generate_secret(provider, &random()?);
                secrets.insert(provider.name.clone(), pair.into());
            }
        }
        if !secrets.contains_key(STATE_KEY) {
            secrets.insert(STATE_KEY.to_owned(), Kept::Shared(hex::encode(random()?)));
        }
        if secrets.len() > known {
            write(&file, &toml::to_string(&secrets)?)?;
        }
        overlay(&mut secrets, environment);
        let state_key = secrets.get(STATE_KEY).map(|kept| kept.signing().to_owned());
        // A provider that is no longer in the catalogue stays in the file and is not served.
        secrets.retain(|name, _| catalogue::get(name).is_some());
        Ok(Self {
            path: path.to_owned(),
            secrets,
            state_key: state_key.unwrap_or_default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Each provider's secret; `None` if it signs with a key pair.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.secrets.iter().map(|(name, kept)| match kept {
            Kept::Shared(secret) => (name.as_str(), Some(secret.as_str())),
            Kept::Pair { .. } => (name.as_str(), None),
        })
    }

    /// The environment in which [`Folder::configuration`] is read.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let secrets = self.secrets.iter();
        secrets
            .map(|(name, kept)| (variable(name), kept.verifying().to_owned()))
            .chain([(variable(STATE_KEY), self.state_key.clone())])
            .collect()
    }

    /// The configuration as text.
    pub(super) fn configuration(
        &self,
        port: u16,
        admin_port: u16,
        public_url: Option<&str>,
        forward: Option<&str>,
    ) -> String {
        let store = format!("sqlite:{}", self.path.join(STORE_FILE).display());
        let mut text = format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\nadmin_listen = \"127.0.0.1:{admin_port}\"\npublic_url = {}\n\
             \n[store]\nurl = {}\nencryption_keys = [\"env:{}\"]\n",
            // Providers that sign the URL sign the one they were given.
            quoted(public_url.unwrap_or(&format!("http://127.0.0.1:{port}"))),
            quoted(&store),
            variable(STATE_KEY)
        );
        let deliver_to = if forward.is_some() {
            format!("[\"{FORWARD}\"]")
        } else {
            "[]".to_owned()
        };
        for name in self.secrets.keys() {
            // Writing to a String cannot fail, here and below.
            let _ = write!(
                text,
                "\n[sources.{name}]\nprovider = \"{name}\"\nsecrets = [\"env:{}\"]\ndeliver_to = {deliver_to}\n{}",
                variable(name),
                catalogue::get(name).map(options).unwrap_or_default()
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

/// The options that the provider's samples use, as a line.
fn options(provider: &Provider) -> String {
    words::sample_options(provider).map_or_else(String::new, |line| format!("{line}\n"))
}

fn variable(provider: &str) -> String {
    format!("SECRET_OF_{}", provider.to_ascii_uppercase().replace('-', "_"))
}

fn random() -> anyhow::Result<[u8; 32]> {
    let mut random = [0; 32];
    SystemRandom::new().fill(&mut random)?;
    Ok(random)
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn read(file: &Path) -> anyhow::Result<BTreeMap<String, Kept>> {
    match fs::read_to_string(file) {
        // The error would show the line, and with it a secret.
        Ok(text) => toml::from_str(&text).map_err(|_| {
            anyhow::anyhow!(
                "{} was changed since `hapax dev` wrote it; remove it, and new secrets are generated",
                file.display()
            )
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).with_context(|| format!("{} cannot be read", file.display())),
    }
}

/// Restricts a file or folder that others can read, because it was created by other means or an older version, to its
/// owner.
fn tighten(path: &Path, mode: u32) -> anyhow::Result<()> {
    if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .with_context(|| format!("{} cannot be made private", path.display()))?;
    }
    Ok(())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| {
        format!(
            "{} cannot be written; choose another folder with `--dir`",
            file.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_config::parse;

    #[test]
    fn secrets_are_made_once_and_only_their_owner_can_read_them() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dev");
        let nothing = Environment::default();
        let first = Folder::open(&path, &nothing).unwrap();
        let second = Folder::open(&path, &nothing).unwrap();
        assert_eq!(first.variables(), second.variables());
        assert_eq!(first.secrets().count(), catalogue::all().len());
        assert!(first.secrets().any(|(_, secret)| secret.is_none()));
        for (name, _) in first.secrets() {
            assert!(signing_secret(&path, name, &nothing).is_some(), "{name}");
        }
        let mode = fs::metadata(path.join(SECRETS_FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_secret_of_the_users_own_wins_and_is_not_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let own = Environment::with([("SECRET_OF_STRIPE", "whsec_own")]);
        let folder = Folder::open(dir.path(), &own).unwrap();
        assert!(
            folder
                .secrets()
                .any(|secret| secret == ("stripe", Some("whsec_own")))
        );
        assert_eq!(signing_secret(dir.path(), "stripe", &own).unwrap(), "whsec_own");
        let written = fs::read_to_string(dir.path().join(SECRETS_FILE)).unwrap();
        assert!(!written.contains("whsec_own"));
    }

    #[test]
    fn a_file_that_is_not_ours_is_refused_without_showing_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(SECRETS_FILE), "stripe = hunter2").unwrap();
        let message = format!(
            "{:#}",
            Folder::open(dir.path(), &Environment::default()).unwrap_err()
        );
        assert!(
            message.contains("remove it") && !message.contains("hunter2"),
            "{message}"
        );
    }

    #[test]
    fn the_configuration_is_one_that_serve_would_take() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path(), &Environment::default()).unwrap();
        let variables = folder.variables();
        let environment = Environment::with(
            variables
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        for forward in [None, Some("http://127.0.0.1:3000/hook?a='b'")] {
            let text = folder.configuration(8080, 0, None, forward);
            let config = parse(&text, Path::new("dev"), &environment, &[]).unwrap();
            assert_eq!(config.sources.len(), catalogue::all().len());
            assert!(config.server.listen.ip().is_loopback() && config.server.admin_listen.ip().is_loopback());
            assert_eq!(config.destinations.len(), usize::from(forward.is_some()));
        }
    }
}

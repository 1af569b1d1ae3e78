//! The only place where the environment is read. For development, `.env` next to the configuration adds to it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use super::dotenv::{self, Dotenv};
use super::kept_secrets::{ENVIRONMENT_OF_COMMANDS, KeptSecrets};
use super::problem::ConfigError;

/// The environment variables, as they were when this value was created.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, OsString>,
    /// The variables that `.env` adds.
    dotenv: Option<Dotenv>,
    kept: KeptSecrets,
}

/// Why a variable has no value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoVariable {
    NotSet,
    NotUtf8,
}

impl Environment {
    /// This process's environment, plus the `.env` next to this configuration.
    ///
    /// # Errors
    /// When a `.env` exists that cannot be used.
    pub fn beside(config: &Path) -> Result<Self, ConfigError> {
        Self::beside_keeping(config, KeptSecrets::default())
    }

    /// The same, with the values last read from files and commands.
    pub(super) fn beside_keeping(config: &Path, kept: KeptSecrets) -> Result<Self, ConfigError> {
        Ok(Self {
            dotenv: dotenv::read_beside(config, &kept)?,
            kept,
            ..Self::of_process()
        })
    }

    /// This process's environment, without `.env`.
    #[expect(clippy::disallowed_methods, reason = "this is the place where it is read")]
    pub fn of_process() -> Self {
        let named = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Self {
            variables: named.collect(),
            ..Self::default()
        }
    }

    /// An environment with these variables and no others.
    pub fn with<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), OsString::from(value));
        Self {
            variables: variables.into_iter().map(owned).collect(),
            ..Self::default()
        }
    }

    /// The `.env` file that was read, if any.
    pub fn dotenv(&self) -> Option<&Path> {
        self.dotenv.as_ref().map(|dotenv| dotenv.path.as_path())
    }

    /// The value of a variable; `None` if it is not set or is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).ok()
    }

    /// The value of a variable, in whatever encoding. The process's environment takes precedence over `.env`.
    pub fn value(&self, name: &str) -> Option<&OsStr> {
        let added = || self.dotenv.as_ref().and_then(|dotenv| dotenv.variables.get(name));
        self.variables.get(name).or_else(added).map(OsString::as_os_str)
    }

    /// The same, if it is UTF-8.
    pub(super) fn get(&self, name: &str) -> Result<&str, NoVariable> {
        let value = self.value(name).ok_or(NoVariable::NotSet)?;
        value.to_str().ok_or(NoVariable::NotUtf8)
    }

    /// The variables that begin with `prefix`: the full name, and the part after the prefix.
    pub fn beginning_with<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let added = self.dotenv.iter().flat_map(|dotenv| dotenv.variables.keys());
        let added = added.filter(|name| !self.variables.contains_key(*name));
        let names = self.variables.keys().chain(added).map(String::as_str);
        names.filter_map(move |name| name.strip_prefix(prefix).map(|rest| (name, rest)))
    }

    /// The variables that commands printing secrets inherit. None of them come from `.env`, which is for this process
    /// only.
    pub(super) fn of_commands(&self) -> Vec<(&str, &OsStr)> {
        let variables = self.variables.iter();
        let named = variables.map(|(name, value)| (name.as_str(), value.as_os_str()));
        let is_inherited = |(name, _): &(&str, &OsStr)| {
            let is_allowed = |allowed: &&str| match allowed.strip_suffix('*') {
                Some(prefix) => name.starts_with(prefix),
                None => name == allowed,
            };
            ENVIRONMENT_OF_COMMANDS.iter().any(is_allowed)
        };
        named.filter(is_inherited).collect()
    }

    /// The values last read from files and commands.
    pub(super) const fn kept(&self) -> &KeptSecrets {
        &self.kept
    }
}

/// Names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

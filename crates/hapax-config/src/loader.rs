//! A configuration that a running service reloads: all of it, or only its secrets.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;

use super::kept_secrets::KeptSecrets;
use super::secret_origin::SecretOrigin;
use super::{Config, ConfigError, Environment, Flag, parse, read_text};

/// Reads the file at a path, with these flags.
#[derive(Debug)]
pub struct Loader {
    path: PathBuf,
    flags: Vec<Flag>,
    kept: KeptSecrets,
    current: Mutex<Current>,
}

/// State of the last configuration that was read without problems.
#[derive(Debug, Default)]
struct Current {
    text: String,
    dotenv: Option<PathBuf>,
    refresh_every: Duration,
}

impl Loader {
    /// A loader that has not read anything yet.
    pub fn new(path: &Path, flags: Vec<Flag>) -> Self {
        Self {
            path: path.to_owned(),
            flags,
            kept: KeptSecrets::default(),
            current: Mutex::default(),
        }
    }

    /// Reads everything: the file, the environment, and every secret.
    ///
    /// # Errors
    /// When the configuration cannot be used.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let environment = self.environment()?;
        self.kept.refresh(&environment.of_commands());
        self.parse(read_text(&self.path)?, &environment)
    }

    /// Reads only the secrets. Changes to the file do not take effect until someone asks for a reload.
    ///
    /// # Errors
    /// When the configuration cannot be used with them.
    pub fn load_secrets(&self) -> Result<Config, ConfigError> {
        let text = self.current().text.clone();
        self.parse(text, &self.environment()?)
    }

    fn parse(&self, text: String, environment: &Environment) -> Result<Config, ConfigError> {
        let config = parse(&text, &self.path, environment, &self.flags)?;
        self.kept.retain(&config.origins, environment.dotenv());
        *self.current() = Current {
            text,
            dotenv: environment.dotenv().map(Path::to_owned),
            refresh_every: config.server.secret_refresh,
        };
        Ok(config)
    }

    /// The files with secrets that have changed since they were read, including `.env`.
    pub fn changed_files(&self) -> Vec<SecretOrigin> {
        self.kept.changed_files()
    }

    /// Runs the commands that print secrets and returns those with new output.
    pub fn refresh_commands(&self) -> Vec<SecretOrigin> {
        self.kept.refresh(&Environment::of_process().of_commands())
    }

    /// How often to run the commands.
    pub fn refresh_every(&self) -> Duration {
        self.current().refresh_every
    }

    /// The values last read from files and commands.
    pub const fn kept(&self) -> &KeptSecrets {
        &self.kept
    }

    /// The `.env` that was read next to the file, if any.
    pub fn dotenv(&self) -> Option<PathBuf> {
        self.current().dotenv.clone()
    }

    fn environment(&self) -> Result<Environment, ConfigError> {
        Environment::beside_keeping(&self.path, self.kept.clone())
    }

    fn current(&self) -> parking_lot::MutexGuard<'_, Current> {
        self.current.lock()
    }
}

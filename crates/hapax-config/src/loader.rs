//! One configuration, read again and again by a service that runs: whole, or with its secrets alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;

use super::secret::{KeptSecrets, SecretOrigin};
use super::{Config, ConfigError, Environment, Flag, parse, read_text};

/// Reads the file at a path, under these flags.
#[derive(Debug)]
pub struct Loader {
    path: PathBuf,
    flags: Vec<Flag>,
    kept: KeptSecrets,
    current: Mutex<Current>,
}

/// Of the configuration that was read last and had no problem.
#[derive(Debug, Default)]
struct Current {
    text: String,
    dotenv: Option<PathBuf>,
    refresh_every: Duration,
}

impl Loader {
    /// Nothing is read yet.
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
    /// When there is no usable configuration.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let environment = self.environment()?;
        self.kept.refresh(&environment);
        self.parse(read_text(&self.path)?, &environment)
    }

    /// Reads the secrets alone: a change of the file that no one has asked to take effect does not come with them.
    ///
    /// # Errors
    /// When they make no usable configuration.
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

    /// Which files with secrets have changed since they were read, the `.env` included.
    pub fn changed_files(&self) -> Vec<SecretOrigin> {
        self.kept.changed_files()
    }

    /// Runs the commands that print secrets, and says which printed something else.
    pub fn refresh_commands(&self) -> Vec<SecretOrigin> {
        self.kept.refresh(&Environment::of_process())
    }

    /// How often commands are to be run.
    pub fn refresh_every(&self) -> Duration {
        self.current().refresh_every
    }

    /// What files and commands said last.
    pub const fn kept(&self) -> &KeptSecrets {
        &self.kept
    }

    /// The `.env` that was read beside the file, if there is one.
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

//! Where a secret comes from.

use std::fmt;
use std::path::PathBuf;

/// The origin of a secret, which may be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretOrigin {
    /// An environment variable.
    Variable(String),
    File(PathBuf),
    /// The output of a command.
    Command(String),
    /// The configuration file itself.
    Literal,
}

impl fmt::Display for SecretOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(formatter, "env:{name}"),
            Self::File(path) => write!(formatter, "file:{}", path.display()),
            Self::Command(command) => write!(formatter, "exec:{command}"),
            Self::Literal => formatter.write_str("literal"),
        }
    }
}

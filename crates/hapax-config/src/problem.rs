//! Problems in a configuration, and their locations.
//!
//! The offending line itself is never printed, because it may contain a literal secret.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigLocation {
    File {
        /// Counted from 1.
        line: usize,
        /// In characters, counted from 1.
        column: usize,
    },
    /// In an environment variable.
    Variable(String),
    /// In a command-line flag.
    Flag(&'static str),
    /// Nowhere: the value is a default or is missing.
    Nowhere,
}

impl ConfigLocation {
    /// The location of a byte in the file.
    pub(super) fn of_byte(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self::File {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    pub location: ConfigLocation,
    /// What is wrong, why, and how to fix it.
    pub message: String,
}

/// Why a configuration cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file does not exist.
    #[error("{} does not exist; `hapax init` creates it, and `--config FILE` uses another file", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        error: std::io::Error,
    },
    /// The file was read but is invalid.
    #[error("{}", listing(path, problems))]
    Invalid {
        path: PathBuf,
        /// All problems, in order; at least one.
        problems: Vec<Problem>,
    },
}

/// One line for a problem: `hapax.toml:3:1: …`.
pub(super) fn line(path: &std::path::Path, problem: &Problem) -> String {
    let message = &problem.message;
    match &problem.location {
        ConfigLocation::File { line, column } => format!("{}:{line}:{column}: {message}", path.display()),
        ConfigLocation::Variable(name) => format!("environment variable {name}: {message}"),
        ConfigLocation::Flag(flag) => format!("flag {flag}: {message}"),
        ConfigLocation::Nowhere => format!("{}: {message}", path.display()),
    }
}

fn listing(path: &std::path::Path, problems: &[Problem]) -> String {
    match problems {
        [problem] => line(path, problem),
        several => {
            let mut text = format!("the configuration has {} problems", several.len());
            for problem in several {
                text.push_str("\n  ");
                text.push_str(&line(path, problem));
            }
            text
        }
    }
}

/// For `config show`: `line 3`, `HAPAX_SERVER__LISTEN`, `--listen` or `default`.
impl fmt::Display for ConfigLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { line, .. } => write!(formatter, "line {line}"),
            Self::Variable(name) => formatter.write_str(name),
            Self::Flag(flag) => formatter.write_str(flag),
            Self::Nowhere => formatter.write_str("default"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_in_characters_from_one() {
        let text = "ä = 1\nbö = 2\n";
        let place = |byte| match ConfigLocation::of_byte(text, byte) {
            ConfigLocation::File { line, column } => (line, column),
            other => panic!("{other:?}"),
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(text.find('=').unwrap()), (1, 3));
        assert_eq!(place(text.rfind('=').unwrap()), (2, 4));
        assert_eq!(place(1000), (3, 1));
    }
}

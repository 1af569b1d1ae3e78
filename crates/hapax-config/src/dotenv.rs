//! `.env`: variables for development, next to `hapax.toml`. One `NAME=value` per line.
//!
//! Values are taken literally and nothing in them is expanded, because a secret may contain any character.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::kept_secrets::{KeptSecrets, SecretError};
use super::problem::{ConfigError, ConfigLocation, Problem};

const FILE: &str = ".env";

/// The variables that a `.env` file sets.
#[derive(Clone)]
pub(super) struct Dotenv {
    pub(super) path: PathBuf,
    pub(super) variables: BTreeMap<String, OsString>,
}

/// The `.env` file next to this configuration; `None` if there is none. It is watched like a secret.
pub(super) fn read_beside(config: &Path, kept: &KeptSecrets) -> Result<Option<Dotenv>, ConfigError> {
    let path = config.with_file_name(FILE);
    let invalid = |line, message: String| ConfigError::Invalid {
        path: path.clone(),
        problems: vec![Problem {
            location: line,
            message,
        }],
    };
    let bytes = match kept.file(&path) {
        Ok(bytes) => bytes,
        Err(SecretError::FileUnreadable { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(invalid(ConfigLocation::Nowhere, error.to_string())),
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| invalid(ConfigLocation::Nowhere, "the file is not UTF-8".to_owned()))?;
    let variables =
        parse(&text).map_err(|(line, message)| invalid(ConfigLocation::File { line, column: 1 }, message))?;
    Ok(Some(Dotenv { path, variables }))
}

/// The variables, or the number of the invalid line and the reason. The line itself is never shown, because it contains
/// a secret.
fn parse(text: &str) -> Result<BTreeMap<String, OsString>, (usize, String)> {
    let mut variables = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |message: &str| (index + 1, message.to_owned());
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        let (name, value) = line
            .split_once('=')
            .filter(|(name, _)| is_name(name))
            .ok_or_else(|| wrong("this is not a variable; write NAME=value"))?;
        let value = read_value(value.trim()).ok_or_else(|| {
            wrong("the closing quote is not at the end of the value; write NAME='value', on one line")
        })?;
        if variables.insert(name.to_owned(), value.into()).is_some() {
            return Err(wrong(&format!("{name} is set twice; remove one of them")));
        }
    }
    Ok(variables)
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(plain) && name.starts_with(|first: char| !first.is_ascii_digit())
}

/// A value without its quotes and without a trailing comment.
fn read_value(text: &str) -> Option<String> {
    for quote in ['\'', '"'] {
        let Some(quoted) = text.strip_prefix(quote) else {
            continue;
        };
        let (value, rest) = quoted.split_once(quote)?;
        let rest = rest.trim_start();
        return (rest.is_empty() || rest.starts_with('#')).then(|| value.to_owned());
    }
    let value = text.split_once(" #").map_or(text, |(value, _)| value);
    Some(value.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_as_they_stand() {
        let text = "# for development\n\nA=one\nexport B = x\n";
        assert_eq!(parse(text).unwrap_err().0, 4, "a name has no blank at its end");
        let text = "# for development\n\nA=one\nexport B='two # 2' # a comment\nC=\"th$ree\\n\"\nD=a#b  # 4\nE=\n\
                    F=a=b\r\n";
        let variables = parse(text).unwrap();
        let value = |name: &str| variables[name].to_str().unwrap();
        assert_eq!(
            ["A", "B", "C", "D", "E", "F"].map(value),
            ["one", "two # 2", "th$ree\\n", "a#b", "", "a=b"]
        );
    }

    #[test]
    fn a_line_that_is_wrong_is_named_and_never_shown() {
        for text in [
            "A=1\nhunter2",
            "A=1\nhunter-2=x",
            "A=1\nB='hunter2",
            "A=1\nB=\"hunter2\" x",
            "A=1\n2B=hunter2",
            "A=1\nA=hunter2",
        ] {
            let (line, message) = parse(text).unwrap_err();
            assert_eq!(line, 2, "{text}");
            assert!(!message.contains("hunter"), "{message}");
        }
    }
}

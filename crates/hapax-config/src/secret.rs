//! Secrets: `env:NAME`, `file:PATH`, `exec:COMMAND` or a literal. They are resolved only here.
//!
//! Errors name the variable, the file or the command, never the value.

use std::path::{Path, PathBuf};

use hapax_core::Secret;

use super::environment::{Environment, NoVariable};
use super::kept_secrets::{SecretError, without_line_end};
use super::secret_origin::SecretOrigin;

/// The secret that `reference` names, and its origin.
pub fn resolve_secret(
    reference: &str,
    environment: &Environment,
) -> Result<(Secret, SecretOrigin), SecretError> {
    let (text, origin) = if let Some(name) = reference.strip_prefix("env:") {
        (
            from_variable(name, environment)?,
            SecretOrigin::Variable(name.to_owned()),
        )
    } else if let Some(path) = reference.strip_prefix("file:") {
        (
            from_file(Path::new(path), environment)?,
            SecretOrigin::File(PathBuf::from(path)),
        )
    } else if let Some(command) = reference.strip_prefix("exec:") {
        (
            environment.kept().command(command, &environment.of_commands())?,
            SecretOrigin::Command(command.to_owned()),
        )
    } else {
        (reference.to_owned(), SecretOrigin::Literal)
    };
    if text.is_empty() {
        return Err(SecretError::Empty(origin));
    }
    Ok((Secret::new(text), origin))
}

fn from_variable(name: &str, environment: &Environment) -> Result<String, SecretError> {
    if name.is_empty() {
        return Err(SecretError::NameMissing("env:"));
    }
    match environment.get(name) {
        Ok(value) => Ok(value.to_owned()),
        Err(NoVariable::NotSet) => Err(SecretError::VariableNotSet(name.to_owned())),
        Err(NoVariable::NotUtf8) => Err(SecretError::VariableNotUtf8(name.to_owned())),
    }
}

fn from_file(path: &Path, environment: &Environment) -> Result<String, SecretError> {
    if path.as_os_str().is_empty() {
        return Err(SecretError::NameMissing("file:"));
    }
    let bytes = environment.kept().file(path)?;
    let text = String::from_utf8(bytes).map_err(|_| SecretError::FileNotUtf8(path.to_owned()))?;
    Ok(without_line_end(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(reference: &str) -> Result<String, String> {
        let process = Environment::of_process();
        let path = process.text("PATH").unwrap();
        let environment = Environment::with([("TOKEN", "hunter2"), ("EMPTY", ""), ("PATH", path)]);
        match resolve_secret(reference, &environment) {
            Ok((secret, origin)) => Ok(format!("{} {origin}", secret.expose())),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_secret_comes_from_a_variable_a_file_or_the_text_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for content in ["hunter2", "hunter2\n", "hunter2\r\n"] {
            std::fs::write(&path, content).unwrap();
            let reference = format!("file:{}", path.display());
            assert_eq!(resolve(&reference), Ok(format!("hunter2 {reference}")));
        }
        assert_eq!(resolve("env:TOKEN"), Ok("hunter2 env:TOKEN".to_owned()));
        assert_eq!(
            resolve("exec:echo hunter2"),
            Ok("hunter2 exec:echo hunter2".to_owned())
        );
        assert_eq!(resolve("hunter3"), Ok("hunter3 literal".to_owned()));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            resolve("env:NOPE").unwrap_err(),
            "the environment variable NOPE is not set; set it, or use another one with \"env:NAME\""
        );
        assert_eq!(
            resolve("env:EMPTY").unwrap_err(),
            "the secret from env:EMPTY is empty"
        );
        assert!(
            resolve("file:/no/such/file")
                .unwrap_err()
                .starts_with("the file /no/such/file cannot be read")
        );
        assert_eq!(
            resolve("exec:true").unwrap_err(),
            "the secret from exec:true is empty"
        );
        assert!(resolve("exec:").is_err() && resolve("exec:false").is_err());
        assert!(resolve("env:").is_err() && resolve("file:").is_err() && resolve("").is_err());
    }

    #[test]
    fn a_file_that_is_no_secret_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, vec![b'x'; 65_537]).unwrap();
        assert!(
            resolve(&format!("file:{}", path.display()))
                .unwrap_err()
                .contains("larger than")
        );
        std::fs::write(&path, [0xff]).unwrap();
        assert!(
            resolve(&format!("file:{}", path.display()))
                .unwrap_err()
                .contains("not UTF-8")
        );
    }
}

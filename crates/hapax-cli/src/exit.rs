//! Exit codes, which scripts rely on, and the error that carries one.

use std::process::ExitCode;

/// The exit codes of every verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    /// The verb ran and failed.
    Failed,
    /// The command line is invalid.
    Usage,
    /// The configuration is missing or invalid.
    Configuration,
    /// The named object does not exist.
    NotFound,
    /// A check ran and found a problem.
    ProblemFound,
}

impl Exit {
    /// The exit code of the process.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::NotFound => 4,
            Self::ProblemFound => 5,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a verb failed, with its exit code.
///
/// Any other error converts into one with [`Exit::Failed`], so that `?` works in every verb. It does not implement
/// [`std::error::Error`]: that is what makes this conversion possible.
#[derive(Debug)]
pub struct CliError {
    pub exit: Exit,
    /// What to tell the user. `None` if the verb has already printed everything.
    pub error: Option<anyhow::Error>,
}

impl CliError {
    /// An error with its own exit code.
    pub fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: Some(error.into()),
        }
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, anyhow::Error::msg(message.into()))
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, anyhow::Error::msg(message.into()))
    }

    pub fn configuration(error: impl Into<anyhow::Error>) -> Self {
        Self::new(Exit::Configuration, error)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, anyhow::Error::msg(message.into()))
    }

    pub fn problem_found(message: impl Into<String>) -> Self {
        Self::new(Exit::ProblemFound, anyhow::Error::msg(message.into()))
    }

    /// Ends with `exit` without a message, because the verb has already printed one.
    pub const fn silent(exit: Exit) -> Self {
        Self { exit, error: None }
    }
}

impl<E: Into<anyhow::Error>> From<E> for CliError {
    fn from(error: E) -> Self {
        let error = error.into();
        // A reader that stops early (`hapax events list | head`) is not a failure.
        let broken_pipe = error
            .chain()
            .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
            .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe);
        if broken_pipe {
            return Self::silent(Exit::Done);
        }
        let exit = match error.downcast_ref() {
            Some(hapax_client::Error::NotFound { .. }) => Exit::NotFound,
            _ if error.is::<hapax_config::ConfigError>() => Exit::Configuration,
            _ if error.is::<hapax_client::BadUrl>() => Exit::Usage,
            _ => Exit::Failed,
        };
        Self {
            exit,
            error: Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_has_the_documented_number() {
        let exits = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::Configuration,
            Exit::NotFound,
            Exit::ProblemFound,
        ];
        assert_eq!(exits.map(Exit::code), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn errors_of_the_client_have_their_exit() {
        let exit = |error: hapax_client::Error| CliError::from(error).exit;
        let (code, detail) = (String::new(), String::new());
        assert_eq!(
            exit(hapax_client::Error::NotFound {
                detail: detail.clone()
            }),
            Exit::NotFound
        );
        assert_eq!(exit(hapax_client::Error::Refused { code, detail }), Exit::Failed);
        let url = hapax_client::Target::at("localhost", None).unwrap_err();
        assert_eq!(CliError::from(url).exit, Exit::Usage);
    }

    #[test]
    fn an_ordinary_error_means_failed_and_a_closed_pipe_means_done() {
        fn fails(kind: std::io::ErrorKind) -> Result<(), CliError> {
            Err(std::io::Error::from(kind))?;
            Ok(())
        }
        assert_eq!(
            fails(std::io::ErrorKind::NotFound).unwrap_err().exit,
            Exit::Failed
        );
        assert_eq!(
            fails(std::io::ErrorKind::BrokenPipe).unwrap_err().exit,
            Exit::Done
        );
    }
}

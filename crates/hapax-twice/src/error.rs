//! Why a test could not be made. What a handler does wrong is not an error but a [`Finding`](crate::Finding).

use crate::effect::Change;
use crate::event::EventProblem;
use crate::snapshot::{CommandError, SnapshotError};

/// Why a test could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address makes no sense.
    #[error("`{0}` is not an address to deliver to; write http://HOST:PORT/PATH or https://…")]
    Url(String),
    /// No such provider.
    #[error(
        "there is no provider `{name}` (a source of a configuration is none); the known ones are {known}"
    )]
    Provider {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Nothing was said about whom to sign as, with what, or what to look at.
    #[error("the test needs {0}")]
    Missing(&'static str),
    /// The secret does not fit the provider.
    #[error("the secret cannot sign: {0}")]
    Secret(#[from] hapax_verify::SetupError),
    /// TLS could not be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// An event that cannot be delivered.
    #[error("the event `{name}` cannot be used: {problem}")]
    Event {
        /// Its name, or the folder.
        name: String,
        /// Why.
        problem: EventProblem,
    },
    /// No snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A plain delivery was not accepted.
    #[error(
        "a plain, signed delivery of `{event}` got {answer}, and not a 2xx; without that nothing can be tested. \
         Check the address and the secret"
    )]
    Refused {
        /// Which event.
        event: String,
        /// What the handler answered.
        answer: String,
    },
    /// Two plain deliveries did different things.
    #[error(
        "two plain deliveries of `{event}` with different ids changed different things, so there is nothing to compare \
         copies with.\nThe first:\n{}\nThe second:\n{}\nShow less in the snapshot, such as sums and counts, or write \
         {{{{fresh}}}} into the event where the handler expects something new",
        lines(.first), lines(.second)
    )]
    Unsteady {
        /// Which event.
        event: String,
        /// What the first changed.
        first: Change,
        /// What the second changed.
        second: Change,
    },
    /// Nothing that any event does can be seen.
    #[error(
        "no event changed anything that the snapshot shows, so a lost or doubled effect could not be seen either. \
         Make the snapshot print what the handler writes, such as \"select sum(amount), count(*) from payments\""
    )]
    Blind,
    /// The command of a plan failed.
    #[error("the command of the plan failed: {0}")]
    Command(String),
}

impl Error {
    /// Whether what was asked for makes no sense, and trying again cannot help.
    pub const fn is_usage(&self) -> bool {
        match self {
            Self::Url(_)
            | Self::Provider { .. }
            | Self::Missing(_)
            | Self::Secret(_)
            | Self::Event { .. } => true,
            Self::Tls(_)
            | Self::Snapshot(_)
            | Self::Refused { .. }
            | Self::Unsteady { .. }
            | Self::Blind
            | Self::Command(_) => false,
        }
    }
}

impl From<CommandError> for Error {
    fn from(error: CommandError) -> Self {
        Self::Command(error.to_string())
    }
}

fn lines(change: &Change) -> String {
    let lines = crate::report::change_lines(change);
    if lines.is_empty() {
        "  (nothing)".to_owned()
    } else {
        lines.join("\n")
    }
}

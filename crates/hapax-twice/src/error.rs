//! Why a test could not be run. Faults of a handler are not errors but [`Finding`](crate::Finding)s.

use crate::effect::Change;
use crate::event::EventProblem;
use crate::snapshot::{CommandError, SnapshotError};

/// Why a test could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL is invalid.
    #[error("`{0}` is not a URL to deliver to; write http://HOST:PORT/PATH or https://…")]
    Url(String),
    /// The catalogue has no such provider.
    #[error(
        "there is no provider `{name}` (a configured source is not a provider); the known ones are {known}"
    )]
    Provider {
        /// The requested name.
        name: String,
        /// The known providers.
        known: String,
    },
    /// The provider, the secret or the snapshot is not set.
    #[error("the test needs {0}")]
    Missing(&'static str),
    /// The secret is not valid for the provider.
    #[error("the secret cannot sign: {0}")]
    Secret(#[from] hapax_verify::SetupError),
    /// TLS could not be set up.
    #[error("TLS could not be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The event cannot be delivered.
    #[error("the event `{name}` cannot be used: {problem}")]
    Event {
        /// The name of the event, or the folder.
        name: String,
        /// What is wrong with it.
        problem: EventProblem,
    },
    /// The snapshot failed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A plain delivery was not accepted.
    #[error(
        "a plain, signed delivery of `{event}` got {answer} instead of a 2xx; nothing can be tested without that. \
         Check the URL and the secret"
    )]
    Refused {
        /// The name of the event.
        event: String,
        /// The handler's response.
        answer: String,
    },
    /// Two plain deliveries had different effects.
    #[error(
        "two plain deliveries of `{event}` with different ids changed different things, so there is nothing to compare \
         duplicates with.\nThe first:\n{}\nThe second:\n{}\nShow less in the snapshot, such as sums and counts, or put \
         {{{{fresh}}}} into the event where the handler expects something new",
        lines(.first), lines(.second)
    )]
    Unsteady {
        /// The name of the event.
        event: String,
        /// What the first changed.
        first: Change,
        /// What the second changed.
        second: Change,
    },
    /// No event has a visible effect.
    #[error(
        "no event changed anything that the snapshot shows, so a lost or doubled effect would not be visible either. \
         Make the snapshot print what the handler writes, such as \"select sum(amount), count(*) from payments\""
    )]
    Blind,
    /// The command of a plan failed.
    #[error("the command of the plan failed: {0}")]
    Command(String),
}

impl Error {
    /// Whether the setup is wrong, so that a retry cannot help.
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

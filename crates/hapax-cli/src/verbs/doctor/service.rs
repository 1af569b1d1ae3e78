//! The running service, if there is one: it answers for what it holds.

use crate::client::{Client, Error};
use crate::verbs::Globals;
use hapax_api::views::ReadyView;

/// What answers at the admin address.
#[derive(Debug)]
pub(super) enum Service {
    /// Hapax, and this is what it says of itself.
    Running(ReadyView),
    /// No one.
    Absent,
    /// Something, but not Hapax; or nothing understandable.
    Strange(String),
}

impl Service {
    pub(super) async fn ask(globals: &Globals) -> Self {
        let client = match Client::from_globals(globals) {
            Ok(client) => client,
            Err(error) => {
                return Self::Strange(error.error.map(|error| error.to_string()).unwrap_or_default());
            }
        };
        match client.probe("readyz").await {
            Ok(view) => Self::Running(view),
            Err(Error::Connect { .. }) => Self::Absent,
            Err(error) => Self::Strange(error.to_string()),
        }
    }
}

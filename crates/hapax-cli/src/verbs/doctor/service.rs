//! The running service, if there is one: it answers for the store and the ports that it holds.

use crate::globals::Globals;
use crate::service;
use hapax_api::views::ReadyView;
use hapax_client::Error;

#[derive(Debug)]
pub(super) enum Service {
    /// Hapax, with its own readiness report.
    Running(ReadyView),
    /// Nothing answers.
    Absent,
    /// Something other than Hapax, or an unreadable answer.
    Strange(String),
}

impl Service {
    pub(super) async fn ask(globals: &Globals) -> Self {
        let client = match service::client(globals) {
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

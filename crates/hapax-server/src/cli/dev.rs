//! `hapax dev`: the service without configuration, on this machine only.

use super::Globals;
use crate::exit::CliError;

/// Try Hapax without any configuration, on this machine only.
///
/// Takes webhooks of every known provider at `/in/<provider>`, with a generated secret each, on an embedded
/// store. Prints the URLs, the secrets, and a line to copy that sends a first event.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax dev
  hapax dev --forward http://127.0.0.1:3000/webhooks")]
pub struct Args {
    /// Deliver every event to this URL; without it, events are accepted and shown
    #[arg(long, value_name = "URL")]
    pub forward: Option<String>,

    /// The port for webhooks
    #[arg(long, value_name = "PORT", default_value_t = 8080)]
    pub port: u16,

    /// The port of the admin API
    #[arg(long, value_name = "PORT", default_value_t = 8081)]
    pub admin_port: u16,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax dev` is not part of this build"))).await
}

//! `hapax providers`: the catalogue of presets.

use super::Globals;
use crate::exit::CliError;

/// Show the providers that Hapax knows.
///
/// Without a name: one line each. With a name: its signature scheme, where the event id is, and for how long
/// it delivers again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax providers
  hapax providers stripe --json")]
pub struct Args {
    /// Show only this provider, in full
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax providers` is not part of this build"))).await
}

//! `hapax resume`: deliver to a paused destination again.

use super::Globals;
use crate::exit::CliError;

/// Deliver to a paused destination again.
///
/// What waited is delivered at the rate that the destination allows.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax resume billing")]
pub struct Args {
    /// The destination
    #[arg(value_name = "DESTINATION")]
    pub destination: String,

    /// Why; it is kept in the audit log
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax resume` is not part of this build"))).await
}

//! `hapax pause`: stop delivering to a destination.

use super::Globals;
use crate::exit::CliError;

/// Stop delivering to a destination; events are still accepted.
///
/// What runs finishes; what waits keeps waiting, and nothing is lost. It lasts over restarts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax pause billing")]
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
    std::future::ready(Err(CliError::failed("`hapax pause` is not part of this build"))).await
}

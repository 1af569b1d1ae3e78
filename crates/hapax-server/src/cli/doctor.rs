//! `hapax doctor`: checks what usually goes wrong, and says what to do.

use super::Globals;
use crate::exit::CliError;

/// Check configuration, store, clock, ports and destinations, and say what to do.
///
/// Changes nothing. Ends with 5 if a check found a problem.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  hapax doctor -c /etc/hapax.toml")]
pub struct Args {}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax doctor` is not part of this build"))).await
}

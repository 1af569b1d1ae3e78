//! `hapax demo`: the proof that nothing is lost and nothing takes effect twice.

use super::Globals;
use crate::exit::CliError;
use crate::config::StoreUrl;

/// Prove it: send events several times, kill the service in the middle, count the effects.
///
/// Starts the service on a temporary store and a real sink, sends N signed events several times each,
/// concurrently, kills (SIGKILL) and restarts the service in the middle, and prints sent, accepted,
/// duplicates, attempts, effects, lost and doubled. Ends with 1 unless lost and doubled are both 0.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax demo
  hapax demo --events 20000 --json")]
pub struct Args {
    /// How many different events to send
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub events: u32,

    /// How often to send each of them
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub copies: u32,

    /// The store to use [default: a temporary SQLite file]
    #[arg(long, value_name = "URL")]
    pub store: Option<StoreUrl>,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax demo` is not part of this build"))).await
}

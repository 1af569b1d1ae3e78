//! `hapax bench`: the published benchmark, beside its ceiling.

use super::Globals;
use crate::exit::CliError;
use crate::config::StoreUrl;

/// Measure this machine, beside the ceiling of a handler that stores nothing.
///
/// Runs a bare HTTP handler and the service with the same client, a 1 KiB body and a real signature, and prints
/// new events, duplicates and deliveries per second, latencies and memory, each as a number and as a ratio to
/// the ceiling. The client is a process of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax bench
  hapax bench --seconds 30 --connections 64,256 --json")]
pub struct Args {
    /// The store to measure [default: a temporary SQLite file]
    #[arg(long, value_name = "URL")]
    pub store: Option<StoreUrl>,

    /// How long each run takes
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,

    /// How many connections, one run each
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [64, 256],
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub connections: Vec<u32>,

    /// How many entries to put into the ledger first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub ledger_entries: u64,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax bench` is not part of this build"))).await
}

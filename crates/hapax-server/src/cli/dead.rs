//! `hapax dead`: deliveries that were given up.

use hapax_core::EventId;

use super::when::When;
use super::Globals;
use crate::exit::CliError;

/// Look at deliveries that were given up, discard them, or take that back.
///
/// A dead delivery keeps its payload for `dead_retention`. `hapax replay` delivers it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax dead list --destination billing
  hapax dead discard 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 --reason 'test data'
  hapax dead restore 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with dead deliveries.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List dead deliveries, the newest first
    List(ListArgs),
    /// Say that they do not matter; a lane that waited for them goes on
    Discard(IdsArgs),
    /// Take a discard back
    Restore(IdsArgs),
}

/// The flags of `dead list`.
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Only of this source
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Only at this destination
    #[arg(long, value_name = "DESTINATION")]
    pub destination: Option<String>,

    /// Only received at or after this time: RFC 3339, or how long ago (`2h`)
    #[arg(long, value_name = "TIME")]
    pub since: Option<When>,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Go on where an earlier page ended
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// Dead deliveries, by their events.
#[derive(Debug, clap::Args)]
pub struct IdsArgs {
    /// The ids that Hapax gave the events
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<EventId>,

    /// Only at this destination [default: wherever the event is dead]
    #[arg(long, value_name = "DESTINATION")]
    pub destination: Option<String>,

    /// Why; it is kept in the audit log
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax dead` is not part of this build"))).await
}

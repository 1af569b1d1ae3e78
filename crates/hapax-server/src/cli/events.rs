//! `hapax events`: look at what was received.

use hapax_core::EventId;

use super::filter::EventFilter;
use super::Globals;
use crate::exit::CliError;

/// Look at events.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events list --source stripe --status dead --since 2d
  hapax events show 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10
  hapax events tail --json | jq .event_id
  hapax events payload 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 > body.json")]
pub struct Args {
    /// What to look at.
    #[command(subcommand)]
    pub command: Command,
}

/// What to look at.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List events, the newest first
    List(ListArgs),
    /// Show one event: its deliveries, attempts, duplicates and conflicts
    Show(IdArgs),
    /// Follow events as they arrive, until Ctrl-C
    Tail(TailArgs),
    /// Write the body of one event to stdout, byte for byte
    Payload(IdArgs),
}

/// The flags of `events list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events list --status dead
  hapax events list --source stripe --type 'invoice.*' --since 2h --limit 500")]
pub struct ListArgs {
    /// Which events.
    #[command(flatten)]
    pub filter: EventFilter,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Go on where an earlier page ended
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// The flags of `events tail`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events tail --source stripe
  hapax events tail --json")]
pub struct TailArgs {
    /// Which events.
    #[command(flatten)]
    pub filter: EventFilter,
}

/// One event.
#[derive(Debug, clap::Args)]
pub struct IdArgs {
    /// The id that Hapax gave the event
    #[arg(value_name = "ID")]
    pub id: EventId,
}

/// Runs the verb.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), CliError> {
    std::future::ready(Err(CliError::failed("`hapax events` is not part of this build"))).await
}

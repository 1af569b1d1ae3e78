//! `hapax events`: look at what was received.

mod export;
pub(super) mod list;
mod show;
mod tail;

use hapax_core::EventId;

use super::Globals;
use super::filter::EventFilter;
use crate::client::{Client, Error};
use crate::exit::CliError;
use hapax_api::views::EventView;
use hapax_terminal::output;

/// Look at events.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events list --source stripe --status dead --since 2d
  hapax events list -q 'type:invoice.* duplicates:>1 body:/data/object/id=ord_1'
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
    /// List events, newest first
    List(ListArgs),
    /// Show one event: its deliveries, attempts, duplicates and conflicts
    Show(IdArgs),
    /// Follow events as they arrive, until Ctrl-C
    Tail(TailArgs),
    /// Write the body of one event to stdout, byte for byte
    Payload(IdArgs),
    /// Export one event as a freshly signed request or as a regression test
    Export(ExportArgs),
}

/// The flags of `events export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events export 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 --as curl | sh
  hapax events export 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 --as rust > tests/delivered_twice.rs")]
pub struct ExportArgs {
    /// The id that Hapax gave the event
    #[arg(value_name = "ID")]
    pub id: EventId,

    /// What to make of it
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: ExportFormat,
}

/// What to make of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// A shell script that sends it to Hapax again as its sender would, alone and signed now
    Curl,
    /// A test in Rust that delivers it twice, as Hapax delivers it
    Rust,
    /// A test for pytest that delivers it twice, as Hapax delivers it
    Python,
    /// A test for `node --test` that delivers it twice, as Hapax delivers it
    Typescript,
}

/// The flags of `events list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events list --status dead
  hapax events list --source stripe --type 'invoice.*' --since 2h --limit 500
  hapax events list --query 'to:billing error:timeout' --json
  hapax events list --saved-search 'dead today'")]
pub struct ListArgs {
    /// Which events.
    #[command(flatten)]
    pub filter: EventFilter,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Continue where an earlier page ended
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// The flags of `events tail`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events tail --source stripe
  hapax events tail -q 'type:invoice.*'
  hapax events tail --json")]
pub struct TailArgs {
    /// Only what this query finds; a tail knows `source:`, `type:`, `id:` and `since:`
    #[arg(short, long, value_name = "QUERY")]
    pub query: Option<String>,

    /// Only what this saved search finds
    #[arg(long, value_name = "NAME")]
    pub saved_search: Option<String>,

    /// Only of this source
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Only of this type; a `*` at the end stands for any ending
    #[arg(long = "type", value_name = "TYPE")]
    pub event_type: Option<String>,

    /// Only with this event id of the provider
    #[arg(long, value_name = "ID")]
    pub event_id: Option<String>,
}

/// One event.
#[derive(Debug, clap::Args)]
pub struct IdArgs {
    /// The id that Hapax gave the event
    #[arg(value_name = "ID")]
    pub id: EventId,
}

/// Runs the verb.
pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = Client::from_globals(globals)?;
    match args.command {
        Command::List(args) => list::run(&client, &args, globals).await,
        Command::Show(IdArgs { id }) => {
            let view: EventView = client
                .get(&format!("events/{id}"))
                .await
                .map_err(Error::into_cli)?;
            show::print(&view, globals)
        }
        Command::Tail(args) => tail::run(&client, &args, globals).await,
        Command::Payload(IdArgs { id }) => {
            let body = client
                .get_bytes(&format!("events/{id}/payload"))
                .await
                .map_err(Error::into_cli)?;
            Ok(output::raw(&body)?)
        }
        Command::Export(args) => export::run(&client, &args, globals).await,
    }
}

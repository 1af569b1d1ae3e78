//! `hapax events`: list, show, follow and export events.

mod export;
pub(super) mod list;
mod show;
mod tail;

use hapax_core::EventId;

use super::filter::EventFilter;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::views::EventView;
use hapax_terminal::output;

/// List, show, follow and export events.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events list --source stripe --status dead --since 2d
  hapax events list -q 'type:invoice.* duplicates:>1 body:/data/object/id=ord_1'
  hapax events show 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10
  hapax events tail --json | jq .event_id
  hapax events payload 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 > body.json")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

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

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events export 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 --as curl | sh
  hapax events export 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 --as rust > tests/delivered_twice.rs
  hapax events export 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 --as pytest > test_takes_effect_once.py")]
pub struct ExportArgs {
    /// Hapax id of the event
    #[arg(value_name = "ID")]
    pub id: EventId,

    /// Format to export
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// A shell script that sends it to Hapax again as its provider would, on its own and signed now
    Curl,
    /// A Rust test that delivers it twice, as Hapax does
    Rust,
    /// A pytest test that delivers it twice, as Hapax does
    Python,
    /// A test for `node --test` that delivers it twice, as Hapax does
    Typescript,
    /// A pytest test that signs it with the package `hapax-webhooks`, delivers it twice and compares the effects
    Pytest,
    /// A Vitest test that signs it with the package `hapax-webhooks`, delivers it twice and compares the effects
    Vitest,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events list --status dead
  hapax events list --source stripe --type 'invoice.*' --since 2h --limit 500
  hapax events list --query 'to:billing error:timeout' --json
  hapax events list --saved-search 'dead today'")]
pub struct ListArgs {
    #[command(flatten)]
    pub filter: EventFilter,

    /// Maximum number of events to list
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Continue from the cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax events tail --source stripe
  hapax events tail -q 'type:invoice.*'
  hapax events tail --json")]
pub struct TailArgs {
    /// Only events that match this query; a live tail supports `source:`, `type:`, `id:` and `since:`
    #[arg(short, long, value_name = "QUERY")]
    pub query: Option<String>,

    /// Only events that match this saved search
    #[arg(long, value_name = "NAME")]
    pub saved_search: Option<String>,

    /// Only events of this source
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// Only events of this type; a trailing `*` matches any ending
    #[arg(long = "type", value_name = "TYPE")]
    pub event_type: Option<String>,

    /// Only events with this event id of the provider
    #[arg(long, value_name = "ID")]
    pub event_id: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct IdArgs {
    /// Hapax id of the event
    #[arg(value_name = "ID")]
    pub id: EventId,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    match args.command {
        Command::List(args) => list::run(&client, &args, globals).await,
        Command::Show(IdArgs { id }) => {
            let view: EventView = client.get(&format!("events/{id}")).await?;
            show::print(&view, globals)
        }
        Command::Tail(args) => tail::run(&client, &args, globals).await,
        Command::Payload(IdArgs { id }) => {
            let body = client.get_bytes(&format!("events/{id}/payload")).await?;
            Ok(output::raw(&body)?)
        }
        Command::Export(args) => export::run(&client, &args, globals).await,
    }
}

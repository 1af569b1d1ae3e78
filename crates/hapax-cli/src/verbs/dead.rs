//! `hapax dead`: dead letters.

mod groups;

use hapax_core::EventId;
use serde_json::json;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::Parameters;
use hapax_api::views::{DeliveriesView, DisposedView};
use hapax_client::{Client, Error};
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// List dead deliveries, discard them, or restore discarded ones.
///
/// A dead delivery keeps its payload for `dead_retention`, discarded or not. `hapax replay` delivers it again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax dead list --destination billing
  hapax dead groups
  hapax dead discard 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10
  hapax dead discard --all --destination billing
  hapax dead restore 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List dead deliveries, newest first
    List(ListArgs),
    /// Count dead deliveries by destination and error, largest group first
    Groups,
    /// Discard dead deliveries. A lane that one was blocking continues
    Discard(ChoiceArgs),
    /// Restore discarded deliveries
    Restore(ChoiceArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax dead list --destination billing
  hapax dead list --discarded")]
pub struct ListArgs {
    /// Only deliveries to this destination
    #[arg(long, value_name = "DESTINATION")]
    pub destination: Option<String>,

    /// List discarded deliveries instead
    #[arg(long)]
    pub discarded: bool,

    /// Maximum number of deliveries to list
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Continue from the cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// Which deliveries: those of the named events, or all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax dead discard 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10
  hapax dead restore --all --destination billing")]
pub struct ChoiceArgs {
    /// Hapax ids of the events
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub ids: Vec<EventId>,

    /// All deliveries of all events
    #[arg(long)]
    pub all: bool,

    /// Only deliveries to this destination [default: every destination where the event is dead]
    #[arg(long, value_name = "DESTINATION")]
    pub destination: Option<String>,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    match args.command {
        Command::List(args) => list(&client, &args, globals).await,
        Command::Groups => groups::run(&client, globals).await,
        Command::Discard(args) => {
            let changed = dispose(&client, "discard", &args, globals).await?;
            if changed > 0 && !globals.json {
                output::note(format_args!("`hapax dead restore {}` undoes this", again(&args)));
            }
            Ok(())
        }
        Command::Restore(args) => dispose(&client, "restore", &args, globals).await.map(drop),
    }
}

async fn list(client: &Client, args: &ListArgs, globals: &Globals) -> Result<(), CliError> {
    let page = fetch(client, args).await?;
    if globals.json {
        return Ok(output::json(&page)?);
    }
    if page.deliveries.is_empty() {
        output::note(if args.discarded {
            "there are no discarded deliveries"
        } else {
            "there are no dead letters"
        });
        return Ok(());
    }
    output::line(table(&page, Reader::of_stdout()))?;
    service::note_more(&page);
    Ok(())
}

async fn fetch(client: &Client, args: &ListArgs) -> Result<DeliveriesView, Error> {
    let status = if args.discarded { "discarded" } else { "dead" };
    let parameters = Parameters::default()
        .with("status", Some(status))
        .with("destination", args.destination.as_ref());
    client
        .pages("deliveries", &parameters, args.cursor.clone(), args.limit)
        .await
}

/// Discards or restores deliveries and returns the number that changed.
async fn dispose(client: &Client, what: &str, args: &ChoiceArgs, globals: &Globals) -> Result<u64, CliError> {
    let destination = args.destination.as_deref();
    let body = if args.all {
        json!({ "query": { "destination": destination } })
    } else {
        let named = args
            .ids
            .iter()
            .map(|id| json!({ "event": id, "destination": destination }));
        json!({ "deliveries": named.collect::<Vec<_>>() })
    };
    let mut disposed = DisposedView {
        changed: 0,
        more: true,
    };
    while disposed.more {
        let part: DisposedView = client.post(&format!("deliveries/{what}"), &body).await?;
        disposed = DisposedView {
            changed: disposed.changed + part.changed,
            more: part.more,
        };
    }
    if globals.json {
        output::json(&disposed)?;
    } else {
        let deliveries = if disposed.changed == 1 {
            "delivery"
        } else {
            "deliveries"
        };
        output::note(format_args!("{what}ed {} {deliveries}", disposed.changed));
    }
    Ok(disposed.changed)
}

/// The arguments that name the same deliveries again.
fn again(args: &ChoiceArgs) -> String {
    let mut words: Vec<String> = args.ids.iter().map(ToString::to_string).collect();
    if args.all {
        words.push("--all".to_owned());
    }
    if let Some(destination) = &args.destination {
        words.push(format!("--destination {destination}"));
    }
    words.join(" ")
}

fn table(page: &DeliveriesView, reader: Reader) -> String {
    let mut table = Table::new([
        "event",
        "destination",
        "status",
        "error",
        "attempts",
        "lost",
        "finished",
    ]);
    for delivery in &page.deliveries {
        table.row([
            delivery.event.to_string(),
            delivery.destination.clone(),
            delivery.status.to_string(),
            delivery.error.clone().unwrap_or_else(|| "-".to_owned()),
            delivery.attempts.to_string(),
            delivery.lost.to_string(),
            reader.moments().show_option(delivery.finished_at),
        ]);
    }
    table.render(reader)
}

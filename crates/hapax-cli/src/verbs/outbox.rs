//! `hapax outbox`: the state of the outboxes.

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::segment;
use hapax_api::views::{OutboxRetriedView, OutboxView, OutboxesView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// Show the outboxes that the service relays, and retry refused rows.
///
/// A relayed row is an event like any other: `hapax events list --source outbox.NAME` lists it, and `hapax dead` and
/// `hapax replay` work on it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax outbox list
  hapax outbox retry 4711 --outbox app")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List the number of rows in each state, and refused rows with the reason
    List,
    /// Retry a refused row after you have fixed it
    Retry(RetryArgs),
}

#[derive(Debug, clap::Args)]
pub struct RetryArgs {
    /// Id of the row
    #[arg(value_name = "ID")]
    pub id: i64,

    /// Outbox of the row [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub outbox: Option<String>,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    match args.command {
        Command::List => list(&client, globals).await,
        Command::Retry(args) => retry(&client, args, globals).await,
    }
}

async fn list(client: &Client, globals: &Globals) -> Result<(), CliError> {
    let view: OutboxesView = client.get("outbox").await?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    if view.outboxes.is_empty() {
        output::note("no outbox is configured: add [outbox.NAME] with its `url` to hapax.toml");
        return Ok(());
    }
    let reader = Reader::of_stdout();
    let mut table = Table::new(["outbox", "pending", "leased", "relayed", "refused", "oldest"]);
    for outbox in &view.outboxes {
        table.row([
            outbox.name.clone(),
            outbox.pending.to_string(),
            outbox.leased.to_string(),
            outbox.relayed.to_string(),
            outbox.refused.to_string(),
            reader.moments().show_option(outbox.oldest_at),
        ]);
    }
    output::line(table.render(reader))?;
    view.outboxes.iter().for_each(say_what_is_wrong);
    Ok(())
}

fn say_what_is_wrong(outbox: &OutboxView) {
    if let Some(problem) = &outbox.problem {
        output::warning(format_args!("{}: {problem}", outbox.name));
    }
    for row in &outbox.refused_rows {
        output::note(format_args!("{} {}: {}", outbox.name, row.id, row.error));
    }
}

async fn retry(client: &Client, args: RetryArgs, globals: &Globals) -> Result<(), CliError> {
    let name = match args.outbox {
        Some(name) => name,
        None => only_one(client).await?,
    };
    let path = format!("outbox/{}/{}/retry", segment(&name), args.id);
    let nothing = serde_json::json!({});
    let retried: OutboxRetriedView = client.post(&path, &nothing).await?;
    if globals.json {
        output::json(&retried)?;
    } else {
        output::note(format_args!("row {} of {name} will be retried", args.id));
    }
    Ok(())
}

async fn only_one(client: &Client) -> Result<String, CliError> {
    let mut view: OutboxesView = client.get("outbox").await?;
    match (view.outboxes.pop(), view.outboxes.is_empty()) {
        (Some(outbox), true) => Ok(outbox.name),
        (Some(_), false) => Err(CliError::usage(
            "there are several outboxes: choose one with --outbox NAME",
        )),
        (None, _) => Err(CliError::not_found("no outbox is configured")),
    }
}

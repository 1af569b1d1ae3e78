//! `hapax replays`: replay jobs, which run in the service.

use hapax_core::EventId;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::Parameters;
use hapax_api::views::{ReplayJobView, ReplaysView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// List, show and cancel replay jobs.
///
/// `hapax replay` with filters starts a job. It runs in the service and survives restarts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax replays list
  hapax replays show 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10
  hapax replays cancel 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List replay jobs, newest first, finished ones included
    List(ListArgs),
    /// Show the progress and results of a replay job
    Show(IdArgs),
    /// Cancel a running replay. Deliveries that were already requeued stay queued
    Cancel(IdArgs),
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Maximum number of replay jobs to list
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Continue from the cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

#[derive(Debug, clap::Args)]
pub struct IdArgs {
    /// Id of the replay job
    #[arg(value_name = "ID")]
    pub id: EventId,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let job = match args.command {
        Command::List(args) => return list(&client, args, globals).await,
        Command::Show(IdArgs { id }) => client.get(&format!("replays/{id}")).await,
        Command::Cancel(IdArgs { id }) => client.delete(&format!("replays/{id}")).await,
    };
    let job: ReplayJobView = job?;
    if globals.json {
        return Ok(output::json(&job)?);
    }
    Ok(output::line(table(&[job], Reader::of_stdout()))?)
}

async fn list(client: &Client, args: ListArgs, globals: &Globals) -> Result<(), CliError> {
    let page: ReplaysView = client
        .pages("replays", &Parameters::default(), args.cursor, args.limit)
        .await?;
    if globals.json {
        return Ok(output::json(&page)?);
    }
    if page.replays.is_empty() {
        output::note("there are no bulk replays yet");
        return Ok(());
    }
    output::line(table(&page.replays, Reader::of_stdout()))?;
    service::note_more(&page);
    Ok(())
}

fn table(jobs: &[ReplayJobView], reader: Reader) -> String {
    let mut table = Table::new([
        "id",
        "state",
        "events",
        "requeued",
        "unfinished",
        "skipped",
        "mode",
        "to",
        "query",
        "started",
        "by",
        "why",
    ]);
    for job in jobs {
        table.row([
            job.id.clone(),
            super::word(&job.state),
            job.tally.matched.to_string(),
            job.tally.replayed.to_string(),
            job.tally.unfinished.to_string(),
            job.tally.skipped.to_string(),
            super::word(&job.mode),
            job.to.clone().unwrap_or_else(|| "-".to_owned()),
            job.q.clone(),
            reader.moments().show(job.as_of),
            job.who.clone(),
            job.why.clone(),
        ]);
    }
    table.render(reader)
}

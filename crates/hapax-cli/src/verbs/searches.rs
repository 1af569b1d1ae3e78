//! `hapax searches`: saved searches.

use serde_json::json;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::segment;
use hapax_api::views::{DeletedSearchView, SavedSearchView, SavedSearchesView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// List, save and remove saved searches, which everyone who uses this service shares.
///
/// Use one with `--saved-search NAME` of `hapax events list`, `events tail` and `replay`, or in the dashboard.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax searches list
  hapax searches save 'dead today' 'status:dead since:24h'
  hapax searches remove 'dead today'")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List all saved searches
    List,
    /// Save a query under a name, replacing any saved search with that name
    Save(SaveArgs),
    /// Delete a saved search
    Remove(NameArgs),
}

#[derive(Debug, clap::Args)]
pub struct SaveArgs {
    /// Name of the saved search
    #[arg(value_name = "NAME")]
    pub name: String,

    /// Query to save; `since:2h` always means the last two hours
    #[arg(value_name = "QUERY")]
    pub query: String,
}

#[derive(Debug, clap::Args)]
pub struct NameArgs {
    /// Name of the saved search
    #[arg(value_name = "NAME")]
    pub name: String,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    match args.command {
        Command::List => list(&client, globals).await,
        Command::Save(args) => save(&client, &args, globals).await,
        Command::Remove(args) => remove(&client, &args, globals).await,
    }
}

async fn list(client: &Client, globals: &Globals) -> Result<(), CliError> {
    let saved: SavedSearchesView = client.get("searches").await?;
    if globals.json {
        return Ok(output::json(&saved)?);
    }
    if saved.searches.is_empty() {
        output::note("there are no saved searches; `hapax searches save NAME QUERY` adds one");
        return Ok(());
    }
    let reader = Reader::of_stdout();
    let mut table = Table::new(["name", "query", "by", "saved"]);
    for search in saved.searches {
        table.row([
            search.name,
            search.query,
            search.by,
            reader.moments().show(search.at),
        ]);
    }
    Ok(output::line(table.render(reader))?)
}

async fn save(client: &Client, args: &SaveArgs, globals: &Globals) -> Result<(), CliError> {
    let path = format!("searches/{}", segment(&args.name));
    let body = json!({ "query": args.query });
    let search: SavedSearchView = client.put(&path, &body).await?;
    if globals.json {
        return Ok(output::json(&search)?);
    }
    output::note(format_args!(
        "saved: `hapax events list --saved-search '{}'` opens it",
        search.name
    ));
    Ok(())
}

async fn remove(client: &Client, args: &NameArgs, globals: &Globals) -> Result<(), CliError> {
    let path = format!("searches/{}", segment(&args.name));
    let search: DeletedSearchView = client.delete(&path).await?;
    if globals.json {
        return Ok(output::json(&search)?);
    }
    output::note(format_args!("`{}` is deleted", search.name));
    Ok(())
}

//! `hapax views`: queries that were given a name.

use serde_json::json;

use super::Globals;
use crate::client::table::{Reader, Table};
use crate::client::{Client, Error, segment};
use crate::exit::CliError;
use crate::http::admin::views::{DeletedViewView, SavedViewView, SavedViewsView};
use crate::output;

/// Save searches under a name, for everyone who uses this service.
///
/// `--view NAME` of `hapax events list`, `events tail` and `replay` uses one; so does the dashboard.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax views list
  hapax views save 'dead today' 'status:dead since:24h'
  hapax views remove 'dead today'")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with views.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List every view
    List,
    /// Save a query under a name, replacing any saved search with that name
    Save(SaveArgs),
    /// Delete a view
    Remove(NameArgs),
}

/// The flags of `views save`.
#[derive(Debug, clap::Args)]
pub struct SaveArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,

    /// The query; `since:2h` always means the last two hours
    #[arg(value_name = "QUERY")]
    pub query: String,
}

/// One view.
#[derive(Debug, clap::Args)]
pub struct NameArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Runs the verb.
pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = Client::from_globals(globals)?;
    match args.command {
        Command::List => list(&client, globals).await,
        Command::Save(args) => save(&client, &args, globals).await,
        Command::Remove(args) => remove(&client, &args, globals).await,
    }
}

async fn list(client: &Client, globals: &Globals) -> Result<(), CliError> {
    let saved: SavedViewsView = client.get("views").await.map_err(Error::into_cli)?;
    if globals.json {
        return Ok(output::json(&saved)?);
    }
    if saved.views.is_empty() {
        output::note("no view is saved: `hapax views save NAME QUERY` saves one");
        return Ok(());
    }
    let reader = Reader::of_stdout();
    let mut table = Table::new(["name", "query", "by", "saved"]);
    for view in saved.views {
        table.row([view.name, view.query, view.by, reader.moments().show(view.at)]);
    }
    Ok(output::line(table.render(reader))?)
}

async fn save(client: &Client, args: &SaveArgs, globals: &Globals) -> Result<(), CliError> {
    let path = format!("views/{}", segment(&args.name));
    let body = json!({ "query": args.query });
    let view: SavedViewView = client.put(&path, &body).await.map_err(Error::into_cli)?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    output::note(format_args!(
        "saved: `hapax events list --view '{}'` opens it",
        view.name
    ));
    Ok(())
}

async fn remove(client: &Client, args: &NameArgs, globals: &Globals) -> Result<(), CliError> {
    let path = format!("views/{}", segment(&args.name));
    let view: DeletedViewView = client.delete(&path).await.map_err(Error::into_cli)?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    output::note(format_args!("`{}` is deleted", view.name));
    Ok(())
}

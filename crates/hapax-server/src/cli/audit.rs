//! `hapax audit`: who did what.

use super::Globals;
use crate::client::table::{Reader, Table};
use crate::client::{Client, Error, Page as _, Parameters};
use crate::exit::CliError;
use crate::http::admin::views::AuditPageView;
use crate::output;

/// List what operators did, the newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax audit
  hapax audit --limit 500 --json")]
pub struct Args {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Go on where an earlier page ended
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// Runs the verb.
pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = Client::from_globals(globals)?;
    let page: AuditPageView = client
        .pages("audit", &Parameters::default(), args.cursor, args.limit)
        .await
        .map_err(Error::into_cli)?;
    if globals.json {
        return Ok(output::json(&page)?);
    }
    if page.audit.is_empty() {
        output::note("nobody has changed anything yet");
        return Ok(());
    }
    let reader = Reader::of_stdout();
    let mut table = Table::new(["when", "who", "what", "to what", "besides"]);
    for entry in &page.audit {
        table.row([
            reader.moments().show(entry.at),
            entry.who.clone(),
            entry.action.clone(),
            entry.subject.clone(),
            entry.detail.clone(),
        ]);
    }
    output::line(table.render(reader))?;
    page.note_more();
    Ok(())
}

//! `hapax dead groups`: dead deliveries that failed in the same way.

use crate::exit::CliError;
use crate::globals::Globals;
use hapax_api::views::DeadGroupsView;
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

pub(super) async fn run(client: &Client, globals: &Globals) -> Result<(), CliError> {
    let view: DeadGroupsView = client.get("deliveries/groups").await?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    let Some(largest) = view.groups.first() else {
        output::note("there are no dead letters");
        return Ok(());
    };
    let reader = Reader::of_stdout();
    let mut table = Table::new(["destination", "error", "dead", "first", "last", "query"]);
    for group in &view.groups {
        table.row([
            group.destination.clone(),
            group.error.clone().unwrap_or_else(|| "-".to_owned()),
            group.count.to_string(),
            reader.moments().show(group.first_at),
            reader.moments().show(group.last_at),
            group.q.clone(),
        ]);
    }
    output::line(table.render(reader))?;
    output::note(format_args!(
        "`hapax replay --query '{}' --to {} --dry-run` shows what a replay of the first group would do",
        largest.q, largest.destination
    ));
    Ok(())
}

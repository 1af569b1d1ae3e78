//! `hapax destinations`: the destinations and their state.

use std::time::Duration;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::readable;
use hapax_api::views::{DestinationsView, PauseView};
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

/// List the destinations of a running service: what each is, and whether it is paused or failing.
///
/// Use `hapax pause` and `hapax resume` to stop and resume deliveries; `hapax stats` shows the backlog of each.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax destinations
  hapax destinations --json")]
pub struct Args {}

pub async fn run(_args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let view: DestinationsView = client.get("destinations").await?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    if view.destinations.is_empty() {
        output::note("no destination is configured: add [destinations.NAME] to hapax.toml");
        return Ok(());
    }
    let mut table = Table::new(["destination", "id", "kind", "target", "running", "limit", "state"]);
    for destination in &view.destinations {
        let dash = || "-".to_owned();
        table.row([
            destination.name.clone(),
            destination.id.clone(),
            destination.kind.clone().unwrap_or_else(dash),
            destination.target.clone().unwrap_or_else(dash),
            destination.running.to_string(),
            destination.concurrency.to_string(),
            state(
                destination.configured,
                destination.paused.as_ref(),
                destination.breaker_open_ms,
            ),
        ]);
    }
    Ok(output::line(table.render(Reader::of_stdout()))?)
}

/// The state of a destination, in a few words.
pub(super) fn state(is_configured: bool, paused: Option<&PauseView>, breaker_open_ms: Option<u64>) -> String {
    match (is_configured, paused, breaker_open_ms) {
        (false, _, _) => "not configured".to_owned(),
        (true, Some(pause), _) if pause.why.is_empty() => format!("paused by {}", pause.by),
        (true, Some(pause), _) => format!("paused by {}: {}", pause.by, pause.why),
        (true, None, Some(open_ms)) => {
            format!(
                "failing, next attempt in {}",
                readable::duration(Duration::from_millis(open_ms))
            )
        }
        (true, None, None) => "ok".to_owned(),
    }
}

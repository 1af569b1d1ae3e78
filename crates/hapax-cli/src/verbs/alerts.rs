//! `hapax alerts`: firing alerts, and a test of the receivers.

use std::fmt::Write as _;

use serde_json::json;

use super::word;
use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use crate::service;
use hapax_api::views::{AlertTestView, AlertView, AlertsView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table, printable};

/// Show firing alerts, each with the command to run.
///
/// Exits with 5 while an alert is firing. `[alerts]` in hapax.toml sets the limits and the receivers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax alerts
  hapax alerts --json | jq -r '.alerts[].command'
  hapax alerts test chat")]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List firing alerts (the default)
    List,
    /// Send a test message to check that a receiver works
    Test(TestArgs),
}

#[derive(Debug, clap::Args)]
pub struct TestArgs {
    /// Receiver to test [default: all]
    #[arg(value_name = "RECEIVER")]
    pub receiver: Option<String>,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    match args.command {
        None | Some(Command::List) => list(&client, globals).await,
        Some(Command::Test(args)) => test(&client, &args, globals).await,
    }
}

async fn list(client: &Client, globals: &Globals) -> Result<(), CliError> {
    let view: AlertsView = client.get("alerts").await?;
    if globals.json {
        output::json(&view)?;
    } else if view.alerts.is_empty() {
        output::line("nothing fires")?;
    } else {
        for alert in &view.alerts {
            output::line(text(alert, Reader::of_stdout()))?;
        }
    }
    if view.receivers.is_empty() {
        output::note("no alert receiver is configured; add [alerts.receivers.NAME] to hapax.toml");
    }
    let fires = view.alerts.iter().any(|alert| alert.resolved_at.is_none());
    if fires {
        return Err(CliError::silent(Exit::ProblemFound));
    }
    Ok(())
}

fn text(alert: &AlertView, reader: Reader) -> String {
    let since = reader.moments().show(alert.since);
    let mut text = format!(
        "{} {} since {since}: {}\n  {}",
        word(&alert.state),
        word(&alert.alert),
        printable(&alert.sentence),
        printable(&alert.command)
    );
    for message in &alert.undelivered {
        let why = message.error.as_deref().unwrap_or("not tried yet");
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n  not delivered to {} after {} tries: {}",
            message.receiver,
            message.tries,
            printable(why)
        );
    }
    text
}

async fn test(client: &Client, args: &TestArgs, globals: &Globals) -> Result<(), CliError> {
    let body = json!({ "receiver": args.receiver });
    let view: AlertTestView = client.post("alerts/test", &body).await?;
    if globals.json {
        output::json(&view)?;
    } else if view.results.is_empty() {
        output::note("no alert receiver is configured; add [alerts.receivers.NAME] to hapax.toml");
    } else {
        let mut table = Table::new(["receiver", "kind", "result", "duration"]);
        for one in &view.results {
            let result = one.problem.clone().unwrap_or_else(|| "delivered".to_owned());
            let took = format!("{} ms", one.took_ms);
            table.row([one.receiver.clone(), one.kind.clone(), result, took]);
        }
        output::line(table.render(Reader::of_stdout()))?;
    }
    if view.results.iter().any(|one| !one.delivered) {
        return Err(CliError::silent(Exit::ProblemFound));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_command_is_one_that_the_program_has() {
        use clap::CommandFactory as _;
        for rule in hapax_api::alert::Rule::ALL {
            let command = hapax_alerts::command(rule, "billing");
            let words = words_of(&command);
            let parsed = crate::verbs::Cli::command().try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{command}: {:?}", parsed.err());
        }
    }

    /// Splits the command into words, as a shell does; a part in single quotes is one word.
    fn words_of(command: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (place, part) in command.split('\'').enumerate() {
            if place % 2 == 1 {
                words.push(part.to_owned());
            } else {
                words.extend(part.split_whitespace().map(str::to_owned));
            }
        }
        words
    }
}

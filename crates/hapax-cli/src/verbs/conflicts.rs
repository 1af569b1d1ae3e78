//! `hapax conflicts`: known ids that arrived with a different body.

use hapax_core::EventId;

use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::{Parameters, segment};
use hapax_api::readable;
use hapax_api::views::{DiffKind, DiffSide, DiffView, EventPageView, ReleasedView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table, printable};

/// List conflicts (a known id with a different body), compare them, or release one.
///
/// `hapax events show ID` lists the conflicting bodies of an event with their hashes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax conflicts list
  hapax conflicts diff 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 9f86d081884c7d65…
  hapax conflicts release 0199f3c1-8e4a-7cc3-98a1-0d5b1c3f7a10 9f86d081884c7d65…")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List events that have conflicts
    List(ListArgs),
    /// Compare a conflicting body with the first one, line by line
    Diff(BodyArgs),
    /// Write a conflicting body to stdout, byte for byte
    Payload(BodyArgs),
    /// Release a conflicting body as a new event. Repeating the command has no further effect
    Release(BodyArgs),
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Maximum number of events to list
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,

    /// Continue from the cursor of an earlier page
    #[arg(long, value_name = "CURSOR")]
    pub cursor: Option<String>,
}

/// One conflicting body.
#[derive(Debug, clap::Args)]
pub struct BodyArgs {
    /// Hapax id of the event
    #[arg(value_name = "ID")]
    pub id: EventId,

    /// SHA-256 of the conflicting body, in hexadecimal
    #[arg(value_name = "HASH")]
    pub hash: String,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    match args.command {
        Command::List(args) => list(&client, args, globals).await,
        Command::Diff(args) => diff(&client, &args, globals).await,
        Command::Payload(args) => {
            let body = client.get_bytes(&path(&args, "payload")).await?;
            Ok(output::raw(&body)?)
        }
        Command::Release(args) => release(&client, &args, globals).await,
    }
}

fn path(args: &BodyArgs, what: &str) -> String {
    format!("events/{}/conflicts/{}/{what}", args.id, segment(&args.hash))
}

async fn list(client: &Client, args: ListArgs, globals: &Globals) -> Result<(), CliError> {
    let parameters = Parameters::default().with("q", Some("has:conflict"));
    let page: EventPageView = client
        .pages("events", &parameters, args.cursor, args.limit)
        .await?;
    if globals.json {
        return Ok(output::json(&page)?);
    }
    if page.events.is_empty() {
        output::note("no id has two bodies");
        return Ok(());
    }
    let reader = Reader::of_stdout();
    let mut table = Table::new(["id", "source", "event id", "type", "received", "size"]);
    for event in &page.events {
        table.row([
            event.id.to_string(),
            event.source.to_string(),
            event.event_id.clone(),
            event.event_type.clone().unwrap_or_else(|| "-".to_owned()),
            reader.moments().show(event.received_at),
            readable::size(event.body_bytes),
        ]);
    }
    output::line(table.render(reader))?;
    service::note_more(&page);
    Ok(())
}

async fn diff(client: &Client, args: &BodyArgs, globals: &Globals) -> Result<(), CliError> {
    let view: DiffView = client.get(&path(args, "diff")).await?;
    if globals.json {
        return Ok(output::json(&view)?);
    }
    output::line(text(&view))?;
    if view.is_cut {
        output::note("the comparison was truncated: `hapax conflicts payload` writes the complete body");
    }
    Ok(())
}

fn text(view: &DiffView) -> String {
    let sizes = format!(
        "--- the first, {}\n+++ the other, {}",
        readable::size(view.first_bytes),
        readable::size(view.other_bytes)
    );
    match view.kind {
        DiffKind::Binary => format!("{sizes}\nat least one of them is not text, so they cannot be compared"),
        DiffKind::Json | DiffKind::Text => {
            let lines = view.lines.iter().map(|line| {
                let mark = match line.side {
                    DiffSide::Both => ' ',
                    DiffSide::First => '-',
                    DiffSide::Other => '+',
                };
                format!("{mark}{}", printable(&line.text))
            });
            std::iter::once(sizes).chain(lines).collect::<Vec<_>>().join("\n")
        }
    }
}

async fn release(client: &Client, args: &BodyArgs, globals: &Globals) -> Result<(), CliError> {
    let nothing = serde_json::json!({});
    let released: ReleasedView = client.post(&path(args, "release"), &nothing).await?;
    if globals.json {
        return Ok(output::json(&released)?);
    }
    output::note(format_args!("released as event {}", released.id));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_reads_like_a_patch() {
        let view: DiffView = serde_json::from_value(serde_json::json!({
            "kind": "json", "first_bytes": 20, "other_bytes": 2048, "is_cut": false,
            "lines": [
                {"side": "both", "first_line": 1, "other_line": 1, "text": "{"},
                {"side": "first", "first_line": 2, "other_line": null, "text": "  \"amount\": 1"},
                {"side": "other", "first_line": null, "other_line": 2, "text": "  \"amount\": 2\u{1b}"},
            ],
        }))
        .unwrap();
        insta::assert_snapshot!(text(&view), @r#"
        --- the first, 20 B
        +++ the other, 2.0 KiB
         {
        -  "amount": 1
        +  "amount": 2\u{1b}
        "#);
    }
}

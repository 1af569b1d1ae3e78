//! `hapax erase`: remove the contents of events.

use std::io::{IsTerminal as _, Write as _};

use serde_json::json;

use super::events::list::looked_at;
use super::filter::EventFilter;
use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use crate::service;
use hapax_api::views::{CoverageView, ErasureView, EventPageView};
use hapax_client::Client;
use hapax_terminal::output::{self, counted};

/// Erase the headers, bodies and conflicts of events, and the responses of destinations.
///
/// This cannot be undone. The ledger remembers the events, so that a further request for one is still a duplicate.
/// Events with unfinished deliveries are erased only with `--discard-unfinished`. Running it again is safe, and
/// continues where an earlier run stopped. docs/guides/data-protection.md describes what stays on disk, and for how
/// long.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax erase -q 'source:stripe body:/data/object/customer=cus_123'
  hapax erase -q 'source:shop until:2026-01-01T00:00:00Z' --discard-unfinished --yes")]
pub struct Args {
    #[command(flatten)]
    pub filter: EventFilter,

    /// Discard unfinished deliveries of these events
    #[arg(long)]
    pub discard_unfinished: bool,

    /// Skip the confirmation; required if there is no terminal
    #[arg(long)]
    pub yes: bool,
}

pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = service::client(globals)?;
    let query = args.filter.text(&client).await?;
    if !args.yes {
        confirm(&client, &query, args.discard_unfinished).await?;
    }
    let mut done = erase(&client, &query, args.discard_unfinished).await?;
    if done.unfinished > 0 && !args.yes {
        let left = counted(done.unfinished, "event has", "events have");
        if is_confirmed(&format!(
            "{left} unfinished deliveries. Discard them and erase the events?"
        ))? {
            let rest = erase(&client, &query, true).await?;
            done.erased += rest.erased;
            done.discarded += rest.discarded;
            done.unfinished = rest.unfinished;
        }
    }
    report(&done, globals)
}

/// Erases page by page until no event is left.
async fn erase(client: &Client, query: &str, discard_unfinished: bool) -> Result<ErasureView, CliError> {
    let mut done = ErasureView::default();
    let mut body = json!({ "query": query, "discard_unfinished": discard_unfinished });
    loop {
        let page: ErasureView = client.post("erasures", &body).await?;
        done.erased += page.erased;
        done.discarded += page.discarded;
        done.before += page.before;
        done.unfinished += page.unfinished;
        done.coverage = page.coverage;
        match page.next {
            Some(next) => body["cursor"] = json!(next),
            None => return Ok(done),
        }
    }
}

/// Asks for confirmation on the terminal; piped input does not count.
async fn confirm(client: &Client, query: &str, discard: bool) -> Result<(), CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CliError::usage(
            "erasing cannot be undone, and there is no terminal for a confirmation: add `--yes`",
        ));
    }
    let path = format!("events?limit=200&q={}", hapax_api::path::segment(query));
    let page: EventPageView = client.get(&path).await?;
    let more = if page.next.is_some() { "more than " } else { "" };
    let events = counted(page.events.len() as u64, "event", "events");
    let work = if discard {
        ", and discard unfinished deliveries"
    } else {
        ""
    };
    if is_confirmed(&format!("Erase {more}{events} permanently{work}?"))? {
        Ok(())
    } else {
        Err(CliError::failed("not confirmed: nothing was erased"))
    }
}

fn is_confirmed(question: &str) -> Result<bool, CliError> {
    let mut stderr = std::io::stderr();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn report(done: &ErasureView, globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        output::json(done)?;
    } else {
        output::line(format_args!(
            "{} erased, {} discarded, {} already erased",
            counted(done.erased, "event", "events"),
            counted(done.discarded, "delivery", "deliveries"),
            done.before
        ))?;
        if let Some(words) = looked_at(done.coverage) {
            output::note(words);
        }
    }
    if done.unfinished > 0 {
        output::note(format_args!(
            "not erased: {} with unfinished deliveries. Wait until these finish, or add `--discard-unfinished`",
            counted(done.unfinished, "event", "events")
        ));
        return Err(CliError::silent(Exit::Failed));
    }
    match done.coverage {
        CoverageView::Newest { is_cut: true, .. } => Err(CliError::failed(
            "not every event was searched; run it for smaller time ranges with `--since` and `--until`",
        )),
        CoverageView::Newest { .. } | CoverageView::Everything | CoverageView::Indexed { .. } => Ok(()),
    }
}

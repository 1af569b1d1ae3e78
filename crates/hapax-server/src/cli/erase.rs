//! `hapax erase`: remove what events brought.

use std::io::{IsTerminal as _, Write as _};

use serde_json::json;

use super::Globals;
use super::events::list::looked_at;
use super::filter::EventFilter;
use crate::client::{Client, Error};
use crate::exit::{CliError, Exit};
use crate::http::admin::views::{CoverageView, ErasureView, EventPageView};
use crate::output;

/// Erase the headers, bodies and conflicts of events, and what destinations answered.
///
/// It cannot be undone. The ledger remembers the events, so that a further delivery of one is still a duplicate. Events
/// with unfinished deliveries are left alone, unless they are to be discarded. Running it again changes nothing, and goes
/// on where an earlier run was stopped. See docs/guides/data-protection.md for what stays on disk, and for how long.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hapax erase -q 'source:stripe body:/data/object/customer=cus_123'
  hapax erase -q 'source:shop until:2026-01-01T00:00:00Z' --discard-unfinished --yes")]
pub struct Args {
    #[command(flatten)]
    pub filter: EventFilter,

    /// Discard the deliveries of these events that are not finished
    #[arg(long)]
    pub discard_unfinished: bool,

    /// Do not ask; needed where there is no terminal
    #[arg(long)]
    pub yes: bool,
}

/// Runs the verb.
pub async fn run(args: Args, globals: &Globals) -> Result<(), CliError> {
    let client = Client::from_globals(globals)?;
    let query = args.filter.text(&client).await?;
    if !args.yes {
        confirm(&client, &query, args.discard_unfinished).await?;
    }
    let mut done = ErasureView::default();
    let mut body = json!({ "query": query, "discard_unfinished": args.discard_unfinished });
    loop {
        let page: ErasureView = client.post("erasures", &body).await.map_err(Error::into_cli)?;
        done.erased += page.erased;
        done.discarded += page.discarded;
        done.before += page.before;
        done.unfinished += page.unfinished;
        done.coverage = page.coverage;
        let Some(next) = page.next else { break };
        body["cursor"] = json!(next);
    }
    report(&done, globals)
}

/// Asks somebody who is there; nothing else counts as an answer.
async fn confirm(client: &Client, query: &str, discard: bool) -> Result<(), CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CliError::usage(
            "erasing cannot be undone: without a terminal to ask on, add `--yes`",
        ));
    }
    let path = format!("events?limit=200&q={}", crate::client::segment(query));
    let page: EventPageView = client.get(&path).await.map_err(Error::into_cli)?;
    let count = page.events.len();
    let count = if page.next.is_some() {
        format!("more than {count}")
    } else {
        count.to_string()
    };
    let work = if discard {
        ", and discard their unfinished deliveries"
    } else {
        ""
    };
    let mut stderr = std::io::stderr();
    write!(stderr, "erase {count} events for good{work}? [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(CliError::failed("not confirmed: nothing was erased")),
    }
}

fn report(done: &ErasureView, globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        output::json(done)?;
    } else {
        output::line(format_args!(
            "{} events erased, {} deliveries discarded, {} erased before",
            done.erased, done.discarded, done.before
        ))?;
        if let Some(words) = looked_at(done.coverage) {
            output::note(words);
        }
    }
    if done.unfinished > 0 {
        output::note(format_args!(
            "{} events were left alone: work is unfinished. Wait for it, or add `--discard-unfinished`",
            done.unfinished
        ));
        return Err(CliError::silent(Exit::Failed));
    }
    match done.coverage {
        CoverageView::Newest { is_cut: true, .. } => Err(CliError::failed(
            "not every event was looked at: run it for parts of the time with `--since` and `--until`",
        )),
        CoverageView::Newest { .. } | CoverageView::Everything | CoverageView::Indexed { .. } => Ok(()),
    }
}

//! A replay of all events that match filters: a stored job in the service, watched from here.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use hapax_core::store::{ReplayJobState, ReplayMode};
use serde_json::{Value, json};

use super::Args;
use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use crate::verbs::events::list::looked_at;
use hapax_api::views::{ReplayJobView, ReplayPreviewView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

/// How often to poll the job.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(super) async fn run(client: &Client, args: &Args, globals: &Globals) -> Result<(), CliError> {
    let mut body = request(args, &args.filter.text(client).await?);
    body["dry_run"] = json!(true);
    let preview: ReplayPreviewView = client.post("replays", &body).await?;
    if args.dry_run {
        return show_preview(&preview, globals);
    }
    if preview.matched == 0 && !globals.json {
        output::note("no event matches: nothing to replay");
        return Ok(());
    }
    if !args.yes && !confirmed(&preview, args)? {
        return Err(CliError::failed("not confirmed: nothing was replayed"));
    }
    body["dry_run"] = json!(false);
    let job: ReplayJobView = client.post("replays", &body).await?;
    let Some(job) = watch(client, job, preview.matched).await? else {
        return Ok(());
    };
    report(&job, globals)
}

fn request(args: &Args, query: &str) -> Value {
    json!({ "query": query, "mode": ReplayMode::from(args.mode), "to": args.to, "rate": args.rate, "why": args.why })
}

fn show_preview(preview: &ReplayPreviewView, globals: &Globals) -> Result<(), CliError> {
    if globals.json {
        return Ok(output::json(preview)?);
    }
    output::line(format_args!("{} events match", preview.matched))?;
    for event in &preview.samples {
        let kind = event.event_type.as_deref().unwrap_or("-");
        output::note(format_args!(
            "  {}  {}  {kind}  {}",
            event.id, event.source, event.status
        ));
    }
    if preview.matched > preview.samples.len() as u64 {
        output::note(format_args!(
            "  … and {} more",
            preview.matched - preview.samples.len() as u64
        ));
    }
    if let Some(words) = looked_at(preview.coverage) {
        output::note(words);
    }
    Ok(())
}

/// Asks for confirmation on a terminal; a script is not asked.
fn confirmed(preview: &ReplayPreviewView, args: &Args) -> Result<bool, CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    let mode = match args.mode {
        super::Mode::Failed => "their dead deliveries",
        super::Mode::All => "all their deliveries, under the same keys",
        super::Mode::Force => "all their deliveries, under NEW keys: they take effect again",
        super::Mode::Held => "their held deliveries: this releases them",
    };
    let mut stderr = std::io::stderr();
    write!(stderr, "replay {} events ({mode})? [y/N] ", preview.matched)?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Watches the job until it ends; `None` if interrupted.
async fn watch(
    client: &Client,
    mut job: ReplayJobView,
    expected: u64,
) -> Result<Option<ReplayJobView>, CliError> {
    let progress = Progress::new(expected);
    progress.say(format!("replay {}", job.id));
    while job.state == ReplayJobState::Running {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            _ = tokio::signal::ctrl_c() => {
                progress.end();
                say_how_to_cancel(&job);
                return Ok(None);
            }
        }
        job = client.get(&format!("replays/{}", job.id)).await?;
        progress.set(job.tally.matched);
    }
    progress.end();
    Ok(Some(job))
}

fn say_how_to_cancel(job: &ReplayJobView) {
    output::note(format_args!(
        "the replay continues in the service; `hapax replays cancel {}` cancels it",
        job.id
    ));
}

fn report(job: &ReplayJobView, globals: &Globals) -> Result<(), CliError> {
    let tally = job.tally;
    if globals.json {
        output::json(job)?;
    } else {
        output::line(format_args!(
            "replay {}: {} events, {} deliveries requeued, {} events refused because of unfinished deliveries, {} with \
             nothing to replay",
            job.id, tally.matched, tally.replayed, tally.unfinished, tally.skipped
        ))?;
    }
    match job.state {
        ReplayJobState::Cancelled => Err(CliError::failed("the replay was cancelled before it finished")),
        ReplayJobState::Running | ReplayJobState::Done if tally.unfinished > 0 => {
            Err(CliError::silent(Exit::Failed))
        }
        ReplayJobState::Running | ReplayJobState::Done => Ok(()),
    }
}

//! A replay of events that are named one by one.

use hapax_core::EventId;
use hapax_core::store::ReplayMode;
use serde::Serialize;
use serde_json::json;

use super::Args;
use crate::exit::{CliError, Exit};
use crate::globals::Globals;
use hapax_api::views::{EventView, ReplayedView};
use hapax_client::{Client, Error};
use hapax_terminal::output;

/// What `--json` prints for each event, one per line.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Line {
    Replayed(ReplayedView),
    Refused { event: EventId, error: String },
}

pub(super) async fn run(client: &Client, args: &Args, globals: &Globals) -> Result<(), CliError> {
    if args.dry_run {
        return preview(client, args, globals).await;
    }
    let mode = ReplayMode::from(args.mode);
    let body = json!({ "mode": mode, "to": args.to, "why": args.why });
    let mut exit = Exit::Done;
    for event in &args.ids {
        match client
            .post::<ReplayedView>(&format!("events/{event}/replay"), &body)
            .await
        {
            Ok(replayed) if globals.json => output::json_line(&Line::Replayed(replayed))?,
            Ok(replayed) => {
                let deliveries = if replayed.deliveries == 1 {
                    "delivery"
                } else {
                    "deliveries"
                };
                output::line(format_args!(
                    "{event}: {} {deliveries} requeued",
                    replayed.deliveries
                ))?;
                if !replayed.left_alone.is_empty() {
                    output::warning(format_args!(
                        "{event}: not replayed to {}: it was applied longer ago than `inbox_retention` minus a day and \
                         could take effect twice; --mode force applies it again on purpose",
                        replayed.left_alone.join(", ")
                    ));
                }
            }
            Err(error @ (Error::Refused { .. } | Error::NotFound { .. })) => {
                exit = worse(exit, &error);
                let error = error.to_string();
                if globals.json {
                    output::json_line(&Line::Refused { event: *event, error })?;
                } else {
                    output::warning(format_args!("{event}: {error}"));
                }
            }
            // Without a service or a token, the other events would fail, too.
            Err(error) => return Err(error.into()),
        }
    }
    match exit {
        Exit::Done => Ok(()),
        other => Err(CliError::silent(other)),
    }
}

/// If only one event fails, and it does not exist, the exit code is `not found`; otherwise it is a failure.
fn worse(exit: Exit, error: &Error) -> Exit {
    match (exit, error) {
        (Exit::Done, Error::NotFound { .. }) => Exit::NotFound,
        _ => Exit::Failed,
    }
}

async fn preview(client: &Client, args: &Args, globals: &Globals) -> Result<(), CliError> {
    for event in &args.ids {
        let view: EventView = client.get(&format!("events/{event}")).await?;
        if globals.json {
            output::json_line(&json!({ "event": event, "dry_run": true, "status": view.status }))?;
        } else {
            output::line(format_args!("{event}: {}, would be replayed", view.status))?;
        }
    }
    Ok(())
}

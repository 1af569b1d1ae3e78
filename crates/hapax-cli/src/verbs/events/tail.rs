//! `hapax events tail`: events as they arrive.

use hapax_core::store::EventQuery;
use hapax_core::{EventId, Timestamp};
use serde::Deserialize;

use super::TailArgs;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::verbs::filter;
use hapax_api::path::Parameters;
use hapax_client::Client;
use hapax_client::sse::Message;
use hapax_terminal::output;
use hapax_terminal::table::printable;

/// An event as the live tail sends it.
#[derive(Debug, Deserialize)]
struct TailedEvent {
    id: EventId,
    source: String,
    event_id: String,
    #[serde(rename = "type")]
    event_type: Option<String>,
    received_at: Timestamp,
    status: String,
}

#[derive(Debug, Deserialize)]
struct Lagged {
    missed: u64,
}

pub(super) async fn run(client: &Client, args: &TailArgs, globals: &Globals) -> Result<(), CliError> {
    let flags = EventQuery {
        source: args.source.as_deref().map(Into::into),
        event_type: args.event_type.clone(),
        event_id: args.event_id.clone(),
        ..EventQuery::default()
    };
    let text = filter::whole(
        client,
        &flags,
        args.saved_search.as_deref(),
        args.query.as_deref(),
    )
    .await?;
    let path = Parameters::default()
        .with("q", Some(text).filter(|text| !text.is_empty()))
        .on("events/stream");
    let mut messages = client.stream(&path).await?;
    if !globals.json {
        output::note(format_args!("following {}; Ctrl-C ends", client.target().shown()));
    }
    loop {
        let message = tokio::select! {
            message = messages.next() => message?,
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
        let Some(message) = message else {
            output::note("the service ended the stream: it is stopping");
            return Ok(());
        };
        print(&message, globals)?;
    }
}

fn print(message: &Message, globals: &Globals) -> Result<(), CliError> {
    match message.event.as_str() {
        "arrival" if globals.json => output::raw(format!("{}\n", message.data).as_bytes())?,
        "arrival" => output::line(line(&serde_json::from_str(&message.data)?))?,
        "lagged" => {
            let Lagged { missed } = serde_json::from_str(&message.data)?;
            output::warning(format_args!("{missed} events arrived too fast to be shown"));
        }
        // Ignore message kinds that only a newer service sends.
        _ => {}
    }
    Ok(())
}

fn line(arrival: &TailedEvent) -> String {
    format!(
        "{}  {:<9}  {}  {}  {}  {}",
        arrival.received_at,
        arrival.status,
        arrival.id,
        printable(&arrival.source),
        printable(arrival.event_type.as_deref().unwrap_or("-")),
        printable(&arrival.event_id),
    )
}

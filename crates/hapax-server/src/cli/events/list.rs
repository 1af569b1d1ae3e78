//! `hapax events list`.

use hapax_core::{Clock as _, SystemClock};

use super::ListArgs;
use crate::cli::Globals;
use crate::client::table::{Reader, Table};
use crate::client::{Client, Error, Page as _, Parameters, moment};
use crate::exit::CliError;
use crate::http::admin::views::EventPageView;
use crate::output;

pub(super) async fn run(client: &Client, args: &ListArgs, globals: &Globals) -> Result<(), CliError> {
    let page = fetch(client, args).await.map_err(Error::into_cli)?;
    if globals.json {
        return Ok(output::json(&page)?);
    }
    if page.events.is_empty() {
        output::note("no event matches");
        return Ok(());
    }
    output::line(table(&page, Reader::of_stdout()))?;
    page.note_more();
    Ok(())
}

async fn fetch(client: &Client, args: &ListArgs) -> Result<EventPageView, Error> {
    let now = SystemClock::default().now();
    let filter = &args.filter;
    let parameters = Parameters::default()
        .with("source", filter.source.as_ref())
        .with("status", filter.status)
        .with("type", filter.event_type.as_ref())
        .with("event_id", filter.event_id.as_ref())
        .with("since", filter.since.map(|when| when.resolve(now)))
        .with("until", filter.until.map(|when| when.resolve(now)));
    client
        .pages("events", &parameters, args.cursor.clone(), args.limit)
        .await
}

fn table(page: &EventPageView, reader: Reader) -> String {
    let mut table = Table::new(["id", "source", "event id", "type", "status", "received", "size"]);
    for event in &page.events {
        table.row([
            event.id.to_string(),
            event.source.to_string(),
            event.event_id.clone(),
            event.event_type.clone().unwrap_or_else(|| "-".to_owned()),
            event.status.to_string(),
            reader.moments().show(event.received_at),
            moment::bytes(event.body_bytes),
        ]);
    }
    table.render(reader)
}

#[cfg(test)]
mod tests {
    use hapax_core::Timestamp;

    use super::*;
    use crate::client::moment::Moments;

    #[test]
    fn a_list_on_a_terminal_is_a_table_with_relative_times() {
        let page: EventPageView = serde_json::from_value(serde_json::json!({
            "events": [
                {"id": "01940000-0000-7000-8000-000000000001", "source": "stripe", "event_id": "evt_1",
                 "type": "invoice.paid", "status": "completed", "received_at": "2026-01-01T00:00:00Z", "body_bytes": 2048},
                {"id": "01940000-0000-7000-8000-000000000002", "source": "github", "event_id": "a/b%3A",
                 "type": null, "status": "dead", "received_at": "2025-12-31T22:00:00Z", "body_bytes": 17},
            ],
            "next": null,
        }))
        .unwrap();
        let moments = Moments::Relative(Timestamp::from_seconds(1_767_225_603));
        insta::assert_snapshot!(table(&page, Reader::Person { width: Some(120), moments }), @r"
        ID                                    SOURCE  EVENT ID  TYPE          STATUS     RECEIVED  SIZE
        01940000-0000-7000-8000-000000000001  stripe  evt_1     invoice.paid  completed  3s ago    2.0 KiB
        01940000-0000-7000-8000-000000000002  github  a/b%3A    -             dead       2h ago    17 B
        ");
        insta::assert_snapshot!(table(&page, Reader::Program).replace('\t', "→"), @r"
        id→source→event id→type→status→received→size
        01940000-0000-7000-8000-000000000001→stripe→evt_1→invoice.paid→completed→2026-01-01T00:00:00.000000Z→2.0 KiB
        01940000-0000-7000-8000-000000000002→github→a/b%3A→-→dead→2025-12-31T22:00:00.000000Z→17 B
        ");
    }
}

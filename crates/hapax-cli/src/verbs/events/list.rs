//! `hapax events list`.

use super::ListArgs;
use crate::exit::CliError;
use crate::globals::Globals;
use crate::service;
use hapax_api::path::Parameters;
use hapax_api::readable;
use hapax_api::views::{CoverageView, EventPageView};
use hapax_client::Client;
use hapax_terminal::output;
use hapax_terminal::table::{Reader, Table};

pub(super) async fn run(client: &Client, args: &ListArgs, globals: &Globals) -> Result<(), CliError> {
    let page = fetch(client, args).await?;
    if globals.json {
        return Ok(output::json(&page)?);
    }
    if page.events.is_empty() {
        output::note("no event matches");
    } else {
        output::line(table(&page, Reader::of_stdout()))?;
        service::note_more(&page);
    }
    if let Some(words) = looked_at(page.coverage) {
        output::note(words);
    }
    Ok(())
}

async fn fetch(client: &Client, args: &ListArgs) -> Result<EventPageView, CliError> {
    let text = args.filter.text(client).await?;
    let parameters = Parameters::default().with("q", Some(text).filter(|text| !text.is_empty()));
    let pages = client.pages("events", &parameters, args.cursor.clone(), args.limit);
    Ok(pages.await?)
}

/// The limits of a search that did not cover every event.
pub(in crate::verbs) fn looked_at(coverage: CoverageView) -> Option<String> {
    match coverage {
        CoverageView::Everything | CoverageView::Newest { is_cut: false, .. } => None,
        CoverageView::Indexed { since } => Some(format!(
            "this field is indexed only since {since}; earlier events were not searched"
        )),
        CoverageView::Newest {
            bodies_read,
            is_cut: true,
        } => Some(format!(
            "only the newest {bodies_read} bodies were read, which is the limit of a search; add a source: that has \
             the field in `indexed`, or narrow the search with source: and until:"
        )),
    }
}

fn table(page: &EventPageView, reader: Reader) -> String {
    let mut table = Table::new([
        "id",
        "source",
        "event id",
        "type",
        "status",
        "received",
        "size",
        "duplicates",
    ]);
    for event in &page.events {
        table.row([
            event.id.to_string(),
            event.source.to_string(),
            event.event_id.clone(),
            event.event_type.clone().unwrap_or_else(|| "-".to_owned()),
            event.status.to_string(),
            reader.moments().show(event.received_at),
            readable::size(event.body_bytes),
            event.duplicates.to_string(),
        ]);
    }
    table.render(reader)
}

#[cfg(test)]
mod tests {
    use hapax_core::Timestamp;

    use super::*;
    use hapax_api::moment::Moments;

    #[test]
    fn a_list_on_a_terminal_is_a_table_with_relative_times() {
        let page: EventPageView = serde_json::from_value(serde_json::json!({
            "events": [
                {"id": "01940000-0000-7000-8000-000000000001", "source": "stripe", "event_id": "evt_1",
                 "type": "invoice.paid", "status": "completed", "received_at": "2026-01-01T00:00:00Z", "body_bytes": 2048, "duplicates": 1},
                {"id": "01940000-0000-7000-8000-000000000002", "source": "github", "event_id": "a/b%3A",
                 "type": null, "status": "dead", "received_at": "2025-12-31T22:00:00Z", "body_bytes": 17, "duplicates": 0},
            ],
            "next": null, "coverage": {"kind": "everything"},
        }))
        .unwrap();
        let moments = Moments::Relative(Timestamp::from_seconds(1_767_225_603));
        insta::assert_snapshot!(table(&page, Reader::Person { width: Some(120), moments }), @r"
        ID                                    SOURCE  EVENT ID  TYPE          STATUS     RECEIVED  SIZE     DUPLICATES
        01940000-0000-7000-8000-000000000001  stripe  evt_1     invoice.paid  completed  3 s ago   2.0 KiB  1
        01940000-0000-7000-8000-000000000002  github  a/b%3A    -             dead       2 h ago   17 B     0
        ");
        insta::assert_snapshot!(table(&page, Reader::Program).replace('\t', "→"), @r"
        id→source→event id→type→status→received→size→duplicates
        01940000-0000-7000-8000-000000000001→stripe→evt_1→invoice.paid→completed→2026-01-01T00:00:00.000000Z→2.0 KiB→1
        01940000-0000-7000-8000-000000000002→github→a/b%3A→-→dead→2025-12-31T22:00:00.000000Z→17 B→0
        ");
    }
}

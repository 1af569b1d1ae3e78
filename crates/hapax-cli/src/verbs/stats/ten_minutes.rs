//! `hapax stats`: the last ten minutes of the process that answers.

use std::time::Duration;

use super::traffic::percentiles;
use hapax_api::readable;
use hapax_api::views::{DestinationTenMinutesView, SourceTenMinutesView, TenMinutesView};
use hapax_terminal::table::{Reader, Table};

/// The range that the service reports.
const WINDOW_SECONDS: u64 = 600;

/// Both tables, and the store's latencies.
pub(in crate::verbs) fn text(recent: &TenMinutesView, reader: Reader) -> String {
    let since = if recent.watched_seconds < WINDOW_SECONDS {
        let watched = readable::duration(Duration::from_secs(recent.watched_seconds));
        format!(", which started {watched} ago")
    } else {
        String::new()
    };
    let [p50, p95, p99] = percentiles(recent.store_write);
    format!(
        "the last ten minutes of the process that answers{since}; percentiles in ms\n\
         durable writes {}: p50 {p50}, p95 {p95}, p99 {p99}\n\n{}\n\n{}",
        recent.store_write.count,
        sources(&recent.sources, reader),
        destinations(&recent.destinations, reader),
    )
}

fn sources(sources: &[SourceTenMinutesView], reader: Reader) -> String {
    let header = [
        "source",
        "events",
        "dedupe",
        "dedupe p95",
        "unproven",
        "ack p50",
        "p95",
        "p99",
    ];
    let mut table = Table::new(header);
    for source in sources {
        let [p50, p95, p99] = percentiles(source.ack);
        table.row([
            source.source.clone(),
            source.events.to_string(),
            source.dedupe_ratio.map_or_else(|| "-".to_owned(), share),
            share(source.dedupe_ratio_p95),
            source.unproven.to_string(),
            p50,
            p95,
            p99,
        ]);
    }
    table.render(reader)
}

fn destinations(destinations: &[DestinationTenMinutesView], reader: Reader) -> String {
    let header = [
        "destination",
        "completed",
        "failed",
        "dead",
        "took p50",
        "p95",
        "p99",
    ];
    let mut table = Table::new(header);
    for destination in destinations {
        let [p50, p95, p99] = percentiles(destination.took);
        table.row([
            destination.destination.clone(),
            destination.completed.to_string(),
            destination.failed.to_string(),
            destination.dead.to_string(),
            p50,
            p95,
            p99,
        ]);
    }
    table.render(reader)
}

fn share(ratio: f64) -> String {
    format!("{:.1}%", ratio * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_say_whose_they_are_and_how_much_of_them_there_is() {
        let took = serde_json::json!({"count": 12, "p50_ms": 1.25, "p95_ms": 3.0, "p99_ms": 9.5});
        let none = serde_json::json!({"count": 0, "p50_ms": null, "p95_ms": null, "p99_ms": null});
        let mut recent: TenMinutesView = serde_json::from_value(serde_json::json!({
            "watched_seconds": 120, "store_write": took,
            "sources": [{"source": "stripe", "events": 12, "accepted": 8, "duplicates": 4, "conflicts": 0, "unproven": 3,
                "dedupe_ratio": 0.333, "dedupe_ratio_p95": 0.5, "ack": took},
                {"source": "github", "events": 0, "accepted": 0, "duplicates": 0, "conflicts": 0, "unproven": 0,
                "dedupe_ratio": null, "dedupe_ratio_p95": 0.0, "ack": none}],
            "destinations": [{"destination": "billing", "destination_id": "billing", "completed": 8, "failed": 1,
                "dead": 0, "took": took}],
        }))
        .unwrap();
        insta::assert_snapshot!(text(&recent, Reader::Program).replace('\t', "→"), @r"
        the last ten minutes of the process that answers, which started 2 min ago; percentiles in ms
        durable writes 12: p50 1.2, p95 3.0, p99 9.5

        source→events→dedupe→dedupe p95→unproven→ack p50→p95→p99
        stripe→12→33.3%→50.0%→3→1.2→3.0→9.5
        github→0→-→0.0%→0→-→-→-

        destination→completed→failed→dead→took p50→p95→p99
        billing→8→1→0→1.2→3.0→9.5
        ");
        recent.watched_seconds = 600;
        assert!(
            text(&recent, Reader::Program).starts_with("the last ten minutes of the process that answers;")
        );
    }
}

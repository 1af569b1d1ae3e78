//! `hapax stats --range`: traffic over time.

use hapax_api::views::{PercentilesView, TrafficView};
use hapax_terminal::spark;
use hapax_terminal::table::{Reader, Table};

pub(in crate::verbs) fn text(traffic: &TrafficView, reader: Reader) -> String {
    format!(
        "the last {}, in steps of {} s; percentiles in ms\n\n{}\n\n{}",
        traffic.range.as_str(),
        traffic.step_seconds,
        sources(traffic, reader),
        destinations(traffic, reader)
    )
}

fn sources(traffic: &TrafficView, reader: Reader) -> String {
    let mut table = Table::new([
        "source",
        "accepted",
        "duplicates",
        "conflicts",
        "rejected",
        "dedupe",
        "p50",
        "p95",
        "p99",
        "received",
    ]);
    for source in &traffic.sources {
        let series = &source.series;
        let received: Vec<u64> = (0..traffic.slots.len())
            .map(|place| {
                let all = [
                    &series.accepted,
                    &series.duplicates,
                    &series.conflicts,
                    &series.rejected,
                ];
                all.iter().filter_map(|counts| counts.get(place)).sum()
            })
            .collect();
        let [p50, p95, p99] = percentiles(source.ack);
        table.row([
            source.source.clone(),
            source.accepted.to_string(),
            source.duplicates.to_string(),
            source.conflicts.to_string(),
            source.rejected.to_string(),
            source
                .dedupe_ratio
                .map_or_else(|| "-".to_owned(), |ratio| format!("{:.1}%", ratio * 100.0)),
            p50,
            p95,
            p99,
            spark::line(&received),
        ]);
    }
    table.render(reader)
}

fn destinations(traffic: &TrafficView, reader: Reader) -> String {
    let mut table = Table::new([
        "destination",
        "completed",
        "failed",
        "dead",
        "p50",
        "p95",
        "p99",
        "completed",
        "failed",
    ]);
    for destination in &traffic.destinations {
        let [p50, p95, p99] = percentiles(destination.took);
        table.row([
            destination.destination.clone(),
            destination.completed.to_string(),
            destination.failed.to_string(),
            destination.dead.to_string(),
            p50,
            p95,
            p99,
            spark::line(&destination.series.completed),
            spark::line(&destination.series.failed),
        ]);
    }
    table.render(reader)
}

/// Three percentiles, in milliseconds.
pub(super) fn percentiles(view: PercentilesView) -> [String; 3] {
    [view.p50_ms, view.p95_ms, view.p99_ms]
        .map(|took| took.map_or_else(|| "-".to_owned(), |took| format!("{took:.1}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traffic_is_shown_with_its_shape_and_its_percentiles() {
        let traffic: TrafficView = serde_json::from_value(serde_json::json!({
            "range": "1h", "step_seconds": 60, "slots": ["2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"],
            "sources": [{"source": "stripe", "received": 12, "accepted": 8, "duplicates": 2, "conflicts": 0, "rejected": 2,
                "dedupe_ratio": 0.2, "gap_ms_max": 7,
                "ack": {"count": 12, "p50_ms": 1.25, "p95_ms": 3.0, "p99_ms": 9.5},
                "series": {"accepted": [1, 7], "duplicates": [0, 2], "conflicts": [0, 0], "rejected": [2, 0]}}],
            "destinations": [{"destination": "billing", "destination_id": "billing", "attempts": 9, "completed": 8,
                "failed": 1, "dead": 0, "took": {"count": 0, "p50_ms": null, "p95_ms": null, "p99_ms": null},
                "series": {"completed": [1, 7], "failed": [1, 0], "dead": [0, 0]}}],
        }))
        .unwrap();
        insta::assert_snapshot!(text(&traffic, Reader::Program).replace('\t', "→"), @r"
        the last 1h, in steps of 60 s; percentiles in ms

        source→accepted→duplicates→conflicts→rejected→dedupe→p50→p95→p99→received
        stripe→8→2→0→2→20.0%→1.2→3.0→9.5→▃█

        destination→completed→failed→dead→p50→p95→p99→completed→failed
        billing→8→1→0→-→-→-→▂█→█·
        ");
    }
}

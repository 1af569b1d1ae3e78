//! `docs/reference/metrics.md`, from the catalogue that provides the help texts of `/metrics`.

use std::fmt::Write as _;

use super::heading;
use hapax_telemetry::catalogue::METRICS;

const OPENING: &str = "
The admin port serves these at `/metrics`, without a token: names of sources and destinations and numbers, never the content
of an event. Clients that accept OpenMetrics 1.0.0, such as Prometheus, get it with exemplars: the newest event of each
bucket, as `event_id`, for `hapax events show`. Others get the text format 0.0.4.

Labels are bounded. `source` and `destination` come from the configuration and all others from fixed lists, so a flood of
unknown names cannot add labels. Figures \"of this process\" differ between replicas; figures \"of the whole store\" are the
same on each, so query their maximum, not their sum.

Only a restart resets a counter. The gauges of a source or destination that was removed from the configuration disappear
with the next scrape; its counters stay until the process ends.
";

pub(super) fn page() -> String {
    let mut page = heading("Metrics", "metrics");
    page.push_str(OPENING);
    page.push_str("\n| metric | kind | labels |\n|---|---|---|\n");
    for metric in METRICS {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() {
            "none".to_owned()
        } else {
            labels.join(", ")
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| [`{0}`](#{0}) | {1} | {labels} |",
            metric.name,
            metric.kind.as_str()
        );
    }
    for metric in METRICS {
        let _ = write!(
            page,
            "\n## {}\n\n{}. {}\n",
            metric.name, metric.help, metric.meaning
        );
    }
    page
}

//! `docs/reference/metrics.md`, from the catalogue that provides the help texts of `/metrics`.

use std::fmt::Write as _;

use super::heading;
use hapax_telemetry::catalogue::METRICS;

const OPENING: &str = "
The admin port serves these at `/metrics`, without a token: names of sources and destinations and numbers, never what is
inside an event. Whoever asks for OpenMetrics 1.0.0 in `Accept`, as Prometheus does, gets it with exemplars: the newest
event of each bucket, as `event_id`, which `hapax events show` takes. Everybody else gets the text format 0.0.4.

Labels are bounded. `source` and `destination` come from the configuration and everything else from fixed lists, so a flood
of unknown names cannot grow them. What is \"of this process\" differs from replica to replica; what is \"of the whole store\" is
the same on each, so that a query takes the largest and not the sum.

A counter is never reset but by a restart. The gauges of a source or destination that left the configuration are gone with
the next scrape; its counters stay until the process ends.
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

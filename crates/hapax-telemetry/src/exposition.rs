//! Writes metrics: histograms with their exemplars, which the registry's encoder does not support, and the registry's
//! output in either format.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use parking_lot::RwLock;

use super::exemplar::Exemplar;
use super::format::Format;
use super::histogram::Histogram;

/// The histograms with one name, one per value of a label.
#[derive(Debug)]
pub(super) struct Histograms {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) label: &'static str,
    pub(super) bounds: &'static [f64],
    pub(super) by_value: RwLock<BTreeMap<String, Histogram>>,
}

impl Histograms {
    pub(super) const fn new(
        name: &'static str,
        help: &'static str,
        label: &'static str,
        bounds: &'static [f64],
    ) -> Self {
        Self {
            name,
            help,
            label,
            bounds,
            by_value: RwLock::new(BTreeMap::new()),
        }
    }

    /// The histogram for this label value.
    pub(super) fn of(&self, value: &str) -> Histogram {
        let mut all = self.by_value.write();
        let histogram = all
            .entry(value.to_owned())
            .or_insert_with(|| Histogram::new(self.bounds));
        histogram.clone()
    }

    pub(super) fn write(&self, text: &mut String, format: Format) {
        head(text, self.name, self.help);
        let all = self.by_value.read();
        for (value, histogram) in all.iter() {
            let label = format!("{}=\"{}\"", self.label, escaped(value));
            series(text, self.name, &label, histogram, format);
        }
    }
}

/// A histogram without labels.
pub(super) fn single(text: &mut String, name: &str, help: &str, histogram: &Histogram, format: Format) {
    head(text, name, help);
    series(text, name, "", histogram, format);
}

/// The registry's output in the older text format. There, a counter's header also ends in `_total`, and an info metric
/// is a gauge.
pub(super) fn plain(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = "";
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            // The type follows, and determines the suffix of both lines.
            help = rest.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                same => ("", same),
            };
            let _ = writeln!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}");
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

// Writing to a String cannot fail.
fn head(text: &mut String, name: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} histogram");
}

fn series(text: &mut String, name: &str, label: &str, histogram: &Histogram, format: Format) {
    let reading = histogram.read();
    let comma = if label.is_empty() { "" } else { "," };
    for (bound, count, exemplar) in reading.buckets {
        let bound = if bound.is_infinite() {
            "+Inf".to_owned()
        } else {
            format!("{bound:?}")
        };
        let _ = write!(text, "{name}_bucket{{{label}{comma}le=\"{bound}\"}} {count}");
        if let (Format::OpenMetrics, Some(exemplar)) = (format, exemplar) {
            let _ = write!(text, "{}", Shown(&exemplar));
        }
        text.push('\n');
    }
    let labels = if label.is_empty() {
        String::new()
    } else {
        format!("{{{label}}}")
    };
    let _ = writeln!(
        text,
        "{name}_sum{labels} {:?}\n{name}_count{labels} {}",
        reading.sum, reading.count
    );
}

struct Shown<'a>(&'a Exemplar);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Exemplar { event, value, at } = self.0;
        let seconds = at.as_micros() as f64 / 1e6;
        write!(f, " # {{event_id=\"{event}\"}} {value:?} {seconds:.3}")
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', r"\\")
        .replace('"', "\\\"")
        .replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use hapax_core::{EventId, Timestamp};

    use super::*;

    #[test]
    fn a_histogram_is_written_with_its_exemplars_where_the_format_has_them() {
        let family = Histograms::new("h_seconds", "Times", "source", &[1.0]);
        family.of("a\"b").observe(0.5);
        let event = EventId::from_bytes([0x11; 16]);
        family
            .of("a\"b")
            .observe_event(2.0, event, Timestamp::from_micros(1_500_000));
        let mut text = String::new();
        family.write(&mut text, Format::OpenMetrics);
        insta::assert_snapshot!(text, @r#"
        # HELP h_seconds Times.
        # TYPE h_seconds histogram
        h_seconds_bucket{source="a\"b",le="1.0"} 1
        h_seconds_bucket{source="a\"b",le="+Inf"} 2 # {event_id="11111111-1111-1111-1111-111111111111"} 2.0 1.500
        h_seconds_sum{source="a\"b"} 2.5
        h_seconds_count{source="a\"b"} 2
        "#);
        let mut plain = String::new();
        family.write(&mut plain, Format::Plain);
        assert_eq!(
            plain,
            text.replace(
                " # {event_id=\"11111111-1111-1111-1111-111111111111\"} 2.0 1.500",
                ""
            )
        );
    }

    #[test]
    fn an_exemplar_is_within_the_128_characters_that_the_format_allows() {
        let name_and_value = "event_id".len() + EventId::from_bytes([0xff; 16]).to_string().len();
        assert!(name_and_value <= 128);
    }

    #[test]
    fn the_older_format_has_whole_names_and_no_end() {
        let text = "# HELP a_x Counts.\n# TYPE a_x counter\na_x_total{b=\"c\"} 1\n# HELP a_build It.\n\
                    # TYPE a_build info\na_build_info{version=\"1\"} 1\n# HELP g G.\n# TYPE g gauge\ng 2.0\n# EOF\n";
        insta::assert_snapshot!(plain(text), @r#"
        # HELP a_x_total Counts.
        # TYPE a_x_total counter
        a_x_total{b="c"} 1
        # HELP a_build_info It.
        # TYPE a_build_info gauge
        a_build_info{version="1"} 1
        # HELP g G.
        # TYPE g gauge
        g 2.0
        "#);
    }
}

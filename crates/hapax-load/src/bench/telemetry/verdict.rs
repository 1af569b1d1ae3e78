//! The meaning of the figures: the ratio of each pair, their median, and whether that is enough.

use serde::Serialize;

use super::Side;
use crate::bench::median::median;
use hapax_telemetry::traces::WAITING_SPANS_MAX;

/// The share of their rate that accepts must keep.
pub(super) const RATIO_MIN: f64 = 0.97;

/// Accepts per second on both sides, measured back to back.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Pair {
    pub(super) without: f64,
    pub(super) with: f64,
    /// Spans that the side with telemetry recorded.
    pub(super) spans: u64,
}

/// Whether the ratio is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Reached,
    /// The ratio is too low, or the figures mean nothing.
    Missed,
}

impl Pair {
    pub(super) fn ratio(&self) -> f64 {
        if self.without > 0.0 {
            self.with / self.without
        } else {
            0.0
        }
    }
}

/// The median of the pairs' ratios.
pub(super) fn ratio(pairs: &[Pair]) -> f64 {
    median(pairs.iter().map(Pair::ratio))
}

/// A run with a problem proves nothing, whatever its ratio.
pub(super) fn standing(ratio: f64, problems: &[String]) -> Standing {
    if ratio >= RATIO_MIN && problems.is_empty() {
        Standing::Reached
    } else {
        Standing::Missed
    }
}

/// A sentence if there are spans without telemetry, or fewer than two per event with it.
pub(super) fn untraced(side: Side, spans: u64, accepted: u64) -> Option<String> {
    match (side, spans) {
        (Side::Without, 0) => None,
        (Side::Without, some) => Some(format!("{some} spans were recorded without telemetry")),
        // Waiting spans are not counted yet: those in the queue, and those of one export.
        (Side::With, some) if some > 0 && some + WAITING_SPANS_MAX >= 2 * accepted => None,
        (Side::With, some) => Some(format!(
            "only {some} spans were dropped or failed for {accepted} events"
        )),
    }
}

/// Lines of `/metrics` that count spans, with any result.
pub(super) const SPANS: &str = "hapax_spans_total{";
/// Lines of `/metrics` that count failed alert messages to the receiver that is gone.
pub(super) const UNTOLD: &str = "hapax_alert_messages_total{receiver=\"gone\",result=\"failed\"}";

/// The sum of the `/metrics` lines with this prefix.
pub(in crate::bench) fn sum_of(metrics: &str, beginning: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(beginning));
    let values = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    values.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(without: f64, with: f64) -> Pair {
        Pair {
            without,
            with,
            spans: 0,
        }
    }

    #[test]
    fn the_median_of_the_pairs_decides() {
        let pairs = [pair(100.0, 90.0), pair(200.0, 196.0), pair(100.0, 99.0)];
        assert!((ratio(&pairs) - 0.98).abs() < 1e-9);
        assert_eq!(standing(ratio(&pairs), &[]), Standing::Reached);
        assert_eq!(standing(0.969, &[]), Standing::Missed);
        assert!((ratio(&[pair(0.0, 5.0)])).abs() < 1e-9);
    }

    #[test]
    fn a_run_that_traced_nothing_proves_nothing() {
        assert_eq!(untraced(Side::Without, 0, 100), None);
        assert_eq!(untraced(Side::With, 1, 100), None);
        assert_eq!(untraced(Side::With, 183_104, 100_000), None);
        for problem in [
            untraced(Side::Without, 1, 100),
            untraced(Side::With, 0, 100),
            untraced(Side::With, 183_103, 100_000),
        ] {
            assert_eq!(standing(1.0, &[problem.unwrap()]), Standing::Missed);
        }
    }

    #[test]
    fn counts_are_read_from_the_metrics() {
        let text = "hapax_spans_total{result=\"exported\"} 0\nhapax_spans_total{result=\"dropped\"} 7\n\
                    hapax_spans_total{result=\"failed\"} 512\nhapax_received_total{source=\"a\"} 9\n\
                    hapax_alert_messages_total{receiver=\"gone\",result=\"failed\"} 2\n";
        assert_eq!((sum_of(text, SPANS), sum_of(text, UNTOLD)), (519, 2));
    }
}

//! The spans of one side, which prove that it was traced or that it was not.

use super::Side;
use crate::bench::site::sum_of;
use hapax_telemetry::traces::WAITING_SPANS_MAX;

/// The spans in `/metrics`, with any result.
pub(super) fn count(metrics: &str) -> u64 {
    sum_of(metrics, "hapax_spans_total{")
}

/// A sentence if there are spans without telemetry, or fewer than two per event with it.
pub(super) fn odd(side: Side, spans: u64, accepted: u64) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_traced_nothing_is_odd() {
        assert_eq!(odd(Side::Without, 0, 100), None);
        assert_eq!(odd(Side::With, 1, 100), None);
        assert_eq!(odd(Side::With, 183_104, 100_000), None);
        assert!(odd(Side::Without, 1, 100).is_some());
        assert!(odd(Side::With, 0, 100).is_some());
        assert!(odd(Side::With, 183_103, 100_000).is_some());
    }

    #[test]
    fn counts_are_read_from_the_metrics() {
        let text = "hapax_spans_total{result=\"exported\"} 0\nhapax_spans_total{result=\"dropped\"} 7\n\
                    hapax_spans_total{result=\"failed\"} 512\nhapax_received_total{source=\"a\"} 9\n\
                    hapax_alert_messages_total{receiver=\"gone\",result=\"failed\"} 2\n";
        assert_eq!((count(text), sum_of(text, super::super::UNTOLD)), (519, 2));
    }
}

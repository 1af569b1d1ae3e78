//! Times on pages: relative, with the exact time as a tooltip.

use std::time::Duration;

use hapax_core::Timestamp;
use maud::{Markup, html};

/// A relative time.
pub(crate) fn moment(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title=(at) { (words(at, now)) } }
}

/// `12 s ago`, `3 h ago`, `in 5 min`.
pub(crate) fn words(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        return format!("in {}", span(at.since(now)));
    }
    format!("{} ago", span(now.since(at)))
}

/// A duration in its largest unit.
pub(crate) fn span(length: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match length.as_secs() {
        0 => format!("{} ms", length.as_millis()),
        seconds @ 1..MINUTE => format!("{seconds} s"),
        seconds @ MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        seconds @ HOUR..DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_in_its_largest_unit() {
        let now = Timestamp::from_seconds(1_000_000);
        let ago = |seconds| words(now.minus(Duration::from_secs(seconds)), now);
        assert_eq!([ago(0), ago(59), ago(60)], ["0 ms ago", "59 s ago", "1 min ago"]);
        assert_eq!(
            [ago(3_599), ago(3_600), ago(90_000)],
            ["59 min ago", "1 h ago", "1 d ago"]
        );
        assert_eq!(words(now.plus(Duration::from_secs(300)), now), "in 5 min");
    }

    #[test]
    fn the_exact_time_is_in_the_markup() {
        let at = Timestamp::from_seconds(0);
        let text = moment(at, at).into_string();
        assert!(
            text.contains("datetime=\"1970-01-01T00:00:00.000000Z\""),
            "{text}"
        );
    }
}

//! Times, durations and sizes for display: relative on a terminal, exact elsewhere.

use std::time::Duration;

use hapax_core::Timestamp;

/// How times are displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// `3m ago`, relative to this time.
    Relative(Timestamp),
    /// RFC 3339.
    Exact,
}

impl Moments {
    pub fn show(self, at: Timestamp) -> String {
        match self {
            Self::Exact => at.to_string(),
            Self::Relative(now) if at > now => format!("in {}", span(at.since(now))),
            Self::Relative(now) => match now.since(at) {
                distance if distance < Duration::from_secs(1) => "just now".to_owned(),
                distance => format!("{} ago", span(distance)),
            },
        }
    }

    /// The time, or a dash.
    pub fn show_option(self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "-".to_owned(), |at| self.show(at))
    }
}

/// A duration in its largest unit, rounded down.
pub fn span(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{}ms", duration.as_millis()),
        seconds @ 1..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..172_800 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// A size in binary units.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_relative_on_a_terminal_and_exact_elsewhere() {
        let now = Timestamp::from_seconds(1_767_225_600);
        let shown =
            |seconds: i64| Moments::Relative(now).show(Timestamp::from_seconds(now.as_seconds() - seconds));
        assert_eq!(
            [0, 1, 59, 60, 7_200, 172_800, -5].map(shown),
            [
                "just now", "1s ago", "59s ago", "1m ago", "2h ago", "2d ago", "in 5s"
            ]
        );
        assert_eq!(Moments::Exact.show(now), "2026-01-01T00:00:00.000000Z");
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(
            [0, 1023, 1024, 1_572_864, 5 << 40].map(bytes),
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB", "5.0 TiB"]
        );
    }
}

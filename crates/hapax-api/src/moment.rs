//! Times for display: relative on a terminal, exact elsewhere.

use hapax_core::Timestamp;

use crate::readable;

/// How times are displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// `3 min ago`, relative to this time.
    Relative(Timestamp),
    /// RFC 3339.
    Exact,
}

impl Moments {
    pub fn show(self, at: Timestamp) -> String {
        match self {
            Self::Exact => at.to_string(),
            Self::Relative(now) => readable::ago(at, now),
        }
    }

    /// The time, or a dash.
    pub fn show_option(self, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "-".to_owned(), |at| self.show(at))
    }
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
                "just now",
                "1 s ago",
                "59 s ago",
                "1 min ago",
                "2 h ago",
                "48 h ago",
                "in 5 s"
            ]
        );
        assert_eq!(Moments::Exact.show(now), "2026-01-01T00:00:00.000000Z");
    }
}

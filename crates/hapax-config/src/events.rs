//! The event types that a destination receives.

/// A filter on event types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Events {
    /// All events, including those without a type.
    All,
    /// Events whose type matches any of the patterns. An event without a type matches none.
    Matching(Vec<EventPattern>),
}

impl Events {
    /// Whether events of this type are delivered.
    pub fn wants(&self, event_type: Option<&str>) -> bool {
        match (self, event_type) {
            (Self::All, _) => true,
            (Self::Matching(_), None) => false,
            (Self::Matching(patterns), Some(event_type)) => {
                patterns.iter().any(|pattern| pattern.fits(event_type))
            }
        }
    }
}

/// A pattern such as `invoice.*`. A `*` matches any characters, including dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPattern(String);

impl EventPattern {
    /// The longest pattern, in bytes: the maximum length of an event type.
    pub const BYTES_MAX: usize = 255;

    /// `None` if the pattern is empty or too long and so could never match.
    pub fn new(text: &str) -> Option<Self> {
        (1..=Self::BYTES_MAX)
            .contains(&text.len())
            .then(|| Self(text.to_owned()))
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the type matches.
    pub fn fits(&self, event_type: &str) -> bool {
        let Some((head, rest)) = self.0.split_once('*') else {
            return self.0 == event_type;
        };
        let Some(mut remaining) = event_type.strip_prefix(head) else {
            return false;
        };
        // Matching each inner piece at its first occurrence leaves the most text for the pieces after it. The last
        // piece must end the type.
        let mut pieces = rest.split('*');
        let tail = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            let Some(at) = remaining.find(piece) else {
                return false;
            };
            remaining = &remaining[at + piece.len()..];
        }
        remaining.ends_with(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, fitting, not_fitting) in [
            (
                "invoice.paid",
                vec!["invoice.paid"],
                vec!["invoice.paid.late", "invoice", ""],
            ),
            (
                "invoice.*",
                vec!["invoice.paid", "invoice.payment.failed", "invoice."],
                vec!["invoice", "invoices.paid"],
            ),
            (
                "*.failed",
                vec!["charge.failed", ".failed"],
                vec!["failed", "charge.failed.x"],
            ),
            ("a*b*c", vec!["abc", "a1b2c", "abbc"], vec!["acb", "ab", "ac"]),
            ("a*a", vec!["aa", "aba"], vec!["a"]),
            ("*", vec!["", "x.y"], vec![]),
        ] {
            let events = Events::Matching(vec![EventPattern::new(pattern).unwrap()]);
            for event_type in fitting {
                assert!(events.wants(Some(event_type)), "{pattern} {event_type}");
            }
            for event_type in not_fitting {
                assert!(!events.wants(Some(event_type)), "{pattern} {event_type}");
            }
        }
    }

    #[test]
    fn events_without_a_type_are_wanted_only_where_all_are() {
        assert!(Events::All.wants(None));
        assert!(!Events::Matching(vec![EventPattern::new("*").unwrap()]).wants(None));
    }
}

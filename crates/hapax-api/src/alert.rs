//! The alert rules: what each is evaluated for, its unit, and the section of the guide that explains it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An alert rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AlertRule)]
pub enum Rule {
    /// A source's duplicate rate is high.
    DedupeRate,
    /// Attempts at a destination are slow.
    HandlerP95,
    /// A destination's oldest unfinished delivery has waited too long.
    OldestPending,
    /// Deliveries ended as dead letters.
    DeadLetters,
    /// A destination keeps failing, so its circuit breaker is open.
    BreakerOpen,
    /// Bodies differ from the first body with the same id.
    Conflicts,
    /// Requests fail signature verification.
    SignatureFailures,
    /// A duplicate arrived when the ledger was about to forget the first delivery.
    DuplicateGap,
    /// Durable writes are slow.
    StoreWriteP95,
    /// An outbox cannot be relayed.
    OutboxDown,
    /// Rows of an outbox were refused.
    OutboxRefused,
    /// An outbox's oldest row has waited too long.
    OutboxWaiting,
}

/// The unit of a rule's value and limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AlertUnit)]
pub enum Unit {
    /// A ratio from 0 to 1.
    Share,
    /// A duration in seconds.
    Seconds,
    /// A number of occurrences.
    Count,
}

/// The kind of subject that a rule is evaluated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AlertSubject)]
pub enum About {
    /// Each source.
    Source,
    /// Each destination.
    Destination,
    /// The store as a whole.
    Store,
    /// Each outbox.
    Outbox,
}

impl Rule {
    /// Every rule, in the order of the configuration.
    pub const ALL: [Self; 12] = [
        Self::DedupeRate,
        Self::HandlerP95,
        Self::OldestPending,
        Self::DeadLetters,
        Self::BreakerOpen,
        Self::Conflicts,
        Self::SignatureFailures,
        Self::DuplicateGap,
        Self::StoreWriteP95,
        Self::OutboxDown,
        Self::OutboxRefused,
        Self::OutboxWaiting,
    ];

    /// The rule's name: its key in `[alerts]`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DedupeRate => "dedupe_rate",
            Self::HandlerP95 => "handler_p95",
            Self::OldestPending => "oldest_pending",
            Self::DeadLetters => "dead_letters",
            Self::BreakerOpen => "breaker_open",
            Self::Conflicts => "conflicts",
            Self::SignatureFailures => "signature_failures",
            Self::DuplicateGap => "duplicate_gap",
            Self::StoreWriteP95 => "store_write_p95",
            Self::OutboxDown => "outbox_down",
            Self::OutboxRefused => "outbox_refused",
            Self::OutboxWaiting => "outbox_waiting",
        }
    }

    pub const fn unit(self) -> Unit {
        match self {
            Self::DedupeRate | Self::DuplicateGap => Unit::Share,
            Self::HandlerP95
            | Self::OldestPending
            | Self::BreakerOpen
            | Self::StoreWriteP95
            | Self::OutboxDown
            | Self::OutboxWaiting => Unit::Seconds,
            Self::DeadLetters | Self::Conflicts | Self::SignatureFailures | Self::OutboxRefused => {
                Unit::Count
            }
        }
    }

    /// The kind of subject it is evaluated for.
    pub const fn about(self) -> About {
        match self {
            Self::DedupeRate | Self::Conflicts | Self::SignatureFailures | Self::DuplicateGap => {
                About::Source
            }
            Self::HandlerP95 | Self::OldestPending | Self::DeadLetters | Self::BreakerOpen => {
                About::Destination
            }
            Self::StoreWriteP95 => About::Store,
            Self::OutboxDown | Self::OutboxRefused | Self::OutboxWaiting => About::Outbox,
        }
    }

    /// The page and section that explain what to do.
    pub const fn guide(self) -> &'static str {
        match self {
            Self::DedupeRate => "docs/guides/alerts.md#dedupe-rate",
            Self::HandlerP95 => "docs/guides/alerts.md#handler-time",
            Self::OldestPending => "docs/guides/alerts.md#oldest-pending",
            Self::DeadLetters => "docs/guides/alerts.md#dead-letters",
            Self::BreakerOpen => "docs/guides/alerts.md#breaker-open",
            Self::Conflicts => "docs/guides/alerts.md#conflicts",
            Self::SignatureFailures => "docs/guides/alerts.md#signature-failures",
            Self::DuplicateGap => "docs/guides/alerts.md#duplicate-gap",
            Self::StoreWriteP95 => "docs/guides/alerts.md#store-write-time",
            Self::OutboxDown => "docs/guides/alerts.md#outbox-down",
            Self::OutboxRefused => "docs/guides/alerts.md#outbox-refused",
            Self::OutboxWaiting => "docs/guides/alerts.md#outbox-waiting",
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AlertState)]
pub enum State {
    /// The condition holds.
    Firing,
    /// The condition held before, but no longer does.
    Resolved,
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = include_str!("../../../docs/guides/alerts.md");

    #[test]
    fn a_rule_has_one_name_everywhere() {
        for rule in Rule::ALL {
            assert_eq!(serde_json::json!(rule), rule.as_str());
        }
    }

    #[test]
    fn every_rule_has_its_heading_in_the_guide() {
        for rule in Rule::ALL {
            let (page, heading) = rule.guide().split_once('#').unwrap();
            assert_eq!(page, "docs/guides/alerts.md");
            let slug = |line: &str| line.trim_start_matches("## ").to_lowercase().replace(' ', "-");
            let mut headings = GUIDE.lines().filter(|line| line.starts_with("## ")).map(slug);
            assert!(headings.any(|found| found == heading), "{heading}");
        }
    }
}

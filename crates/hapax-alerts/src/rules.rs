//! The rules: each evaluates the facts of one moment, in its own file. They are pure; what follows from an evaluation
//! is decided elsewhere.

mod breaker_open;
mod conflicts;
mod dead_letters;
mod dedupe_rate;
mod duplicate_gap;
mod handler_p95;
mod oldest_pending;
mod outbox_down;
mod outbox_refused;
mod outbox_waiting;
mod signature_failures;
mod store_write_p95;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::facts::Facts;
use hapax_api::alert::Rule;
use hapax_delivery::outbox::Health;

/// The result of a rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evaluation {
    /// The subjects that it is true for, with their figures.
    pub(super) firing: BTreeMap<String, f64>,
    /// The state of all other subjects.
    pub(super) rest: Rest,
}

/// The state of subjects that a rule is not firing for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The rule is false.
    Fine,
    /// Unknown: this process has not been watching for long enough, or the store did not answer. Existing alerts stay
    /// as they are.
    Unknown,
}

/// Evaluates one rule on the facts.
pub(super) fn evaluate(rule: Rule, facts: &Facts, limit: f64) -> Evaluation {
    let evaluate = match rule {
        Rule::DedupeRate => dedupe_rate::evaluate,
        Rule::HandlerP95 => handler_p95::evaluate,
        Rule::OldestPending => oldest_pending::evaluate,
        Rule::DeadLetters => dead_letters::evaluate,
        Rule::BreakerOpen => breaker_open::evaluate,
        Rule::Conflicts => conflicts::evaluate,
        Rule::SignatureFailures => signature_failures::evaluate,
        Rule::DuplicateGap => duplicate_gap::evaluate,
        Rule::StoreWriteP95 => store_write_p95::evaluate,
        Rule::OutboxDown => outbox_down::evaluate,
        Rule::OutboxRefused => outbox_refused::evaluate,
        Rule::OutboxWaiting => outbox_waiting::evaluate,
    };
    evaluate(facts, limit)
}

impl Evaluation {
    /// Fires for subjects with a figure above the limit.
    fn above(limit: f64, figures: impl IntoIterator<Item = (String, f64)>, rest: Rest) -> Self {
        let mut firing = BTreeMap::new();
        for (subject, figure) in figures {
            if figure > limit {
                // One name may have several figures; the worst counts.
                let worst: &mut f64 = firing.entry(subject).or_insert(figure);
                *worst = worst.max(figure);
            }
        }
        Self { firing, rest }
    }
}

/// What the ten-minute figures say about subjects that are not above the limit.
fn of_ten_minutes(facts: &Facts) -> Rest {
    if facts.ten_minutes.watched_for < hapax_telemetry::WINDOW {
        Rest::Unknown
    } else {
        Rest::Fine
    }
}

/// What the status of the outboxes says about subjects that are not above the limit: if a table cannot be read, its
/// figures are unknown.
fn of_outboxes(facts: &Facts) -> Rest {
    let is_known = |health: &Health| health.counts.is_some() && health.trouble.is_none();
    if facts.outboxes.iter().all(is_known) {
        Rest::Fine
    } else {
        Rest::Unknown
    }
}

/// What the store's answer says about subjects that are not above the limit.
const fn of_answer<T>(answer: Option<&T>) -> Rest {
    match answer {
        Some(_) => Rest::Fine,
        None => Rest::Unknown,
    }
}

//! The rules: each judges the facts of one moment, one file each. They are pure; what follows from a judgement is
//! decided elsewhere.

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

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evaluation {
    /// For whom it is true, with the figure.
    pub(super) firing: BTreeMap<String, f64>,
    /// What holds for all others.
    pub(super) rest: Rest,
}

/// What holds for those for whom a rule is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It is false.
    Fine,
    /// It cannot be said: this process has not watched for long enough, or the store did not answer. What is known
    /// stays as it is.
    Unknown,
}

/// Judges the facts by one rule.
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
    /// True for those whose figure is above the limit.
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

/// What a figure of ten minutes says of those who are not above the limit.
fn of_ten_minutes(facts: &Facts) -> Rest {
    if facts.ten_minutes.watched_for < hapax_telemetry::WINDOW {
        Rest::Unknown
    } else {
        Rest::Fine
    }
}

/// What the looks at outboxes say of them: one that cannot be looked at leaves open what only its table knows.
fn of_outboxes(facts: &Facts) -> Rest {
    let is_known = |health: &Health| health.counts.is_some() && health.trouble.is_none();
    if facts.outboxes.iter().all(is_known) {
        Rest::Fine
    } else {
        Rest::Unknown
    }
}

/// What an answer of the store says of them.
const fn of_answer<T>(answer: Option<&T>) -> Rest {
    match answer {
        Some(_) => Rest::Fine,
        None => Rest::Unknown,
    }
}

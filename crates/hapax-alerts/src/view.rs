//! Alerts as the rest of the program sees them.

use hapax_core::Timestamp;

use super::message::{Message, Said, command, wrong};
use super::row::Row;
use hapax_api::alert::Rule;
use hapax_api::alert::State;

#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    pub rule: Rule,
    /// The source, destination or outbox concerned, or `store`.
    pub subject: String,
    pub state: State,
    /// When it started firing.
    pub since: Timestamp,
    pub resolved_at: Option<Timestamp>,
    pub value: f64,
    pub limit: f64,
    /// What is wrong, in one sentence.
    pub sentence: String,
    /// The command that shows more.
    pub command: String,
    /// Messages that are not delivered yet.
    pub overdue: Vec<Overdue>,
}

/// A message that is not delivered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overdue {
    pub receiver: String,
    pub says: State,
    pub tries: u32,
    pub error: Option<String>,
}

/// The alerts to display: firing ones first, the longest-lasting first.
pub(super) fn of(rows: impl Iterator<Item = Row>) -> Vec<Alert> {
    let mut alerts: Vec<Alert> = rows.map(show).collect();
    alerts.sort_by_key(|alert| (alert.state != State::Firing, alert.since, alert.rule));
    alerts
}

fn show(row: Row) -> Alert {
    let sentence = match (row.state, row.resolved_at) {
        (State::Firing, _) | (State::Resolved, None) => wrong(row.rule, &row.subject, row.value, row.limit),
        (State::Resolved, Some(at)) => Message {
            rule: row.rule,
            subject: row.subject.clone(),
            said: Said::Resolved,
            since: row.since,
            at,
            value: row.value,
            limit: row.limit,
        }
        .sentence(),
    };
    Alert {
        rule: row.rule,
        state: row.state,
        since: row.since,
        resolved_at: row.resolved_at,
        value: row.value,
        limit: row.limit,
        sentence,
        command: command(row.rule, &row.subject),
        overdue: row
            .owed
            .into_iter()
            .map(|owed| Overdue {
                receiver: owed.receiver,
                says: owed.state,
                tries: owed.tries,
                error: owed.error,
            })
            .collect(),
        subject: row.subject,
    }
}

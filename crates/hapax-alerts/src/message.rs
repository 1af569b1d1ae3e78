//! Messages to receivers: what is wrong, the figure against the limit, since when, and the command to run. Never a
//! body, a secret or a token: they contain only names from the configuration and figures.

use std::time::Duration;

use hapax_core::{BodyHash, Timestamp};
use serde_json::{Value, json};

use hapax_api::alert::State;
use hapax_api::alert::{About, Rule, Unit};
use hapax_api::readable;

/// The colours of a chat message's bar: firing, resolved, test.
const RED: &str = "#c0392b";
const GREEN: &str = "#2e7d32";
const GREY: &str = "#607d8b";
/// Characters of an id: a hash is cut to a length at which collisions are not expected.
const ID_CHARACTERS: usize = 32;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) rule: Rule,
    pub(super) subject: String,
    pub(super) said: Said,
    pub(super) since: Timestamp,
    pub(super) at: Timestamp,
    pub(super) value: f64,
    pub(super) limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Firing,
    Resolved,
    /// Someone is testing the receiver.
    Test,
}

impl From<State> for Said {
    fn from(state: State) -> Self {
        match state {
            State::Firing => Self::Firing,
            State::Resolved => Self::Resolved,
        }
    }
}

impl Said {
    pub(super) const fn as_type(self) -> &'static str {
        match self {
            Self::Firing => "alert.firing",
            Self::Resolved => "alert.resolved",
            Self::Test => "alert.test",
        }
    }

    const fn colour(self) -> &'static str {
        match self {
            Self::Firing => RED,
            Self::Resolved => GREEN,
            Self::Test => GREY,
        }
    }
}

impl Message {
    /// The same on every attempt, and without a dot, as Standard Webhooks requires.
    pub(super) fn id(&self) -> String {
        let parts = format!(
            "{}\0{}\0{}\0{}",
            self.rule,
            self.subject,
            self.since.as_micros(),
            self.said.as_type()
        );
        let mut id = BodyHash::of(parts.as_bytes()).to_string();
        id.truncate(ID_CHARACTERS);
        format!("alert_{id}")
    }

    /// What is wrong, or resolved, in one sentence.
    pub(super) fn sentence(&self) -> String {
        match self.said {
            Said::Test => {
                "This is a test of `hapax alerts test`: nothing is wrong, and alerts are delivered here."
                    .to_owned()
            }
            Said::Firing => wrong(self.rule, &self.subject, self.value, self.limit),
            Said::Resolved => format!(
                "{}: resolved after {}; {}.",
                whose(self.rule, &self.subject),
                readable::duration(self.at.since(self.since)),
                fine(self.rule, self.limit)
            ),
        }
    }

    /// The message as a JSON document, for webhooks and commands.
    pub(super) fn document(&self) -> Value {
        json!({
            "type": self.said.as_type(),
            "timestamp": self.at,
            "data": {
                "id": self.id(),
                "alert": self.rule,
                "about": self.rule.about(),
                "subject": self.subject,
                "summary": self.sentence(),
                "value": self.value,
                "limit": self.limit,
                "unit": self.rule.unit(),
                "since": self.since,
                "command": command(self.rule, &self.subject),
                "guide": self.rule.guide(),
            },
        })
    }

    /// The message in Slack's format.
    pub(super) fn for_slack(&self) -> Value {
        let title = match self.said {
            Said::Firing => format!("FIRING: {} of {}", self.rule, self.subject),
            Said::Resolved => format!("RESOLVED: {} of {}", self.rule, self.subject),
            Said::Test => "TEST".to_owned(),
        };
        let field = |title: &str, value: String| json!({ "title": title, "value": value, "short": true });
        let mut fields = vec![
            field("Figure", figure(self.rule.unit(), self.value)),
            field("Limit", figure(self.rule.unit(), self.limit)),
            field("Since", self.since.to_string()),
            json!({ "title": "Run", "value": format!("`{}`", escaped(&command(self.rule, &self.subject))), "short": false }),
        ];
        if self.said == Said::Test {
            fields.clear();
        }
        json!({
            "text": escaped(&title),
            "attachments": [{
                "color": self.said.colour(),
                "text": escaped(&self.sentence()),
                "fallback": escaped(&self.sentence()),
                "fields": fields,
                "ts": self.at.as_seconds(),
            }],
        })
    }
}

/// What is wrong, with the figure against the limit.
pub(super) fn wrong(rule: Rule, subject: &str, value: f64, limit: f64) -> String {
    let whose = whose(rule, subject);
    let (value, limit) = (figure(rule.unit(), value), figure(rule.unit(), limit));
    match rule {
        Rule::DedupeRate => format!(
            "{whose}: duplicate rate {value} (95th percentile over ten minutes) is above the limit of {limit}."
        ),
        Rule::HandlerP95 => format!(
            "{whose}: handler latency {value} (95th percentile over ten minutes) is above the limit of {limit}."
        ),
        Rule::OldestPending => {
            format!(
                "{whose}: the oldest unfinished delivery has waited for {value}, longer than the limit of {limit}."
            )
        }
        Rule::DeadLetters => format!(
            "{whose}: there are dead letters ({value}), more than the limit of {limit}; they are not retried \
             automatically."
        ),
        Rule::BreakerOpen => format!(
            "{whose}: it keeps failing, and its breaker has been open for {value}, longer than the limit of {limit}."
        ),
        Rule::Conflicts => format!(
            "{whose}: conflicting bodies arrived under known ids ({value} in ten minutes), more than the limit of \
             {limit}."
        ),
        Rule::SignatureFailures => format!(
            "{whose}: requests failed verification ({value} in ten minutes), more than the limit of {limit}."
        ),
        Rule::DuplicateGap => format!(
            "{whose}: a duplicate arrived after {value} of `ledger_window` in the last day, more than the limit of \
             {limit}; a later one would be accepted as new."
        ),
        Rule::StoreWriteP95 => format!(
            "{whose}: durable writes take {value} (95th percentile over ten minutes), longer than the limit of {limit}."
        ),
        Rule::OutboxDown => format!(
            "{whose}: its table has been unusable for {value}, longer than the limit of {limit}; its rows wait."
        ),
        Rule::OutboxRefused => format!(
            "{whose}: rows were refused ({value}), more than the limit of {limit}; they are not relayed until they are \
             corrected."
        ),
        Rule::OutboxWaiting => format!(
            "{whose}: the oldest unrelayed row has waited for {value}, longer than the limit of {limit}."
        ),
    }
}

/// The command that shows more.
pub fn command(rule: Rule, subject: &str) -> String {
    match rule {
        Rule::DedupeRate | Rule::DuplicateGap => format!("hapax stats duplicates {subject}"),
        Rule::HandlerP95 => "hapax stats --range 1h".to_owned(),
        Rule::OldestPending | Rule::BreakerOpen => "hapax destinations".to_owned(),
        Rule::DeadLetters => format!("hapax dead list --destination {subject}"),
        Rule::Conflicts => format!("hapax events list --query 'source:{subject} has:conflict'"),
        Rule::SignatureFailures => "hapax sources".to_owned(),
        Rule::StoreWriteP95 | Rule::OutboxDown => "hapax doctor".to_owned(),
        Rule::OutboxRefused | Rule::OutboxWaiting => "hapax outbox list".to_owned(),
    }
}

/// A figure for people.
pub(super) fn figure(unit: Unit, figure: f64) -> String {
    match unit {
        Unit::Share => format!("{:.0}%", figure * 100.0),
        Unit::Count => format!("{figure:.0}"),
        Unit::Seconds if figure < 10.0 => format!("{figure:.1} s"),
        Unit::Seconds => readable::duration(Duration::try_from_secs_f64(figure).unwrap_or_default()),
    }
}

fn whose(rule: Rule, subject: &str) -> String {
    match rule.about() {
        About::Source => format!("Source {subject}"),
        About::Destination => format!("Destination {subject}"),
        About::Store => "The store".to_owned(),
        About::Outbox => format!("Outbox {subject}"),
    }
}

fn fine(rule: Rule, limit: f64) -> String {
    let limit = figure(rule.unit(), limit);
    match rule {
        Rule::DedupeRate => format!("its duplicate rate is back at or below {limit}"),
        Rule::HandlerP95 => format!("handler latency is back at or below {limit}"),
        Rule::OldestPending => format!("no delivery has waited for longer than {limit}"),
        Rule::DeadLetters => format!("the number of dead letters is back at or below {limit}"),
        Rule::BreakerOpen => "its breaker is closed".to_owned(),
        Rule::Conflicts => format!("conflicts in ten minutes are back at or below {limit}"),
        Rule::SignatureFailures => {
            format!("failed verifications in ten minutes are back at or below {limit}")
        }
        Rule::DuplicateGap => {
            format!("in the last day, no duplicate arrived after {limit} of `ledger_window`")
        }
        Rule::StoreWriteP95 => format!("write latency is back at or below {limit}"),
        Rule::OutboxDown => "its table can be used".to_owned(),
        Rule::OutboxRefused => format!("the number of refused rows is back at or below {limit}"),
        Rule::OutboxWaiting => format!("no row has waited for longer than {limit}"),
    }
}

/// Slack treats these three characters as markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
#[path = "message/tests.rs"]
mod tests;

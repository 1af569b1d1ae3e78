//! The stored form of an alert, and its transitions. Nothing here has side effects: the process that swaps the old
//! value for the new one acts on the change.
//!
//! Messages are owed to each receiver in order. A message that was never attempted, or whose attempt certainly failed,
//! can be withdrawn: an alert that fires again before its receivers heard that it was resolved simply continues.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::message::Message;
use hapax_api::alert::{Rule, State};

/// After this time a message is dropped: it would be yesterday's news.
pub(super) const MESSAGE_LIFE: Duration = Duration::from_secs(24 * 3600);
/// How long a message waits for a receiver that this process does not know: another replica may already know it.
pub(super) const STRANGER_LIFE: Duration = Duration::from_secs(600);
/// The longest that a process holds a message to send it, and the longest wait for the next attempt. A time further
/// ahead comes from a clock that was changed, and is ignored.
pub(super) const AHEAD_MAX: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) rule: Rule,
    pub(super) subject: String,
    pub(super) state: State,
    /// When it started firing.
    pub(super) since: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resolved_at: Option<Timestamp>,
    pub(super) value: f64,
    pub(super) limit: f64,
    /// Incremented whenever a process finds it true: once it stops changing, the alert is resolved. No two clocks are
    /// compared.
    pub(super) beat: u64,
    /// Its receivers.
    #[serde(rename = "told")]
    pub(super) receivers: Vec<String>,
    /// Messages that are not delivered yet; for each receiver in sending order.
    pub(super) owed: Vec<Owed>,
}

/// A message that is not delivered yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Owed {
    pub(super) receiver: String,
    pub(super) state: State,
    pub(super) since: Timestamp,
    pub(super) at: Timestamp,
    pub(super) value: f64,
    pub(super) limit: f64,
    pub(super) tries: u32,
    pub(super) next_at: Timestamp,
    /// Whether the receiver may already have it: it was sent, and the result is unknown.
    pub(super) in_doubt: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) claim: Option<Claim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// A process is sending it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub(super) owner: u64,
    pub(super) until: Timestamp,
}

/// The result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    Delivered,
    /// It certainly did not arrive.
    Refused(String),
    /// It may have arrived.
    Unclear(String),
}

/// A figure and the limit that it exceeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    pub(super) value: f64,
    pub(super) limit: f64,
}

impl Row {
    /// The key under which the store keeps it.
    pub(super) fn name(rule: Rule, subject: &str) -> String {
        format!("{rule}/{subject}")
    }

    /// It is true now and was not before.
    pub(super) fn raised(
        rule: Rule,
        subject: &str,
        excess: Excess,
        now: Timestamp,
        receivers: &BTreeSet<&String>,
    ) -> Self {
        let mut row = Self {
            rule,
            subject: subject.to_owned(),
            state: State::Firing,
            since: now,
            resolved_at: None,
            value: excess.value,
            limit: excess.limit,
            beat: 0,
            receivers: receivers.iter().map(|name| (*name).clone()).collect(),
            owed: Vec::new(),
        };
        row.owe(now, row.receivers.clone());
        row
    }

    /// It is true again before all receivers were notified that it was resolved.
    pub(super) fn raised_again(&self, excess: Excess, now: Timestamp, receivers: &BTreeSet<&String>) -> Self {
        let takes_back = |owed: &Owed| owed.state == State::Resolved && !owed.in_doubt;
        let unaware: BTreeSet<&String> = self
            .owed
            .iter()
            .filter(|owed| takes_back(owed))
            .map(|owed| &owed.receiver)
            .collect();
        let heard: Vec<String> = receivers
            .difference(&unaware)
            .map(|name| (*name).clone())
            .collect();
        let mut row = Self {
            state: State::Firing,
            resolved_at: None,
            since: if heard.is_empty() { self.since } else { now },
            value: excess.value,
            limit: excess.limit,
            beat: self.beat + 1,
            receivers: unaware
                .iter()
                .map(|name| (*name).clone())
                .chain(heard.clone())
                .collect(),
            owed: self
                .owed
                .iter()
                .filter(|owed| !takes_back(owed))
                .cloned()
                .collect(),
            ..self.clone()
        };
        row.owe(now, heard);
        row
    }

    /// It is still true; or that is unknown, and then the figure stays.
    pub(super) fn still(&self, excess: Option<Excess>) -> Self {
        Self {
            beat: self.beat + 1,
            value: excess.map_or(self.value, |excess| excess.value),
            limit: excess.map_or(self.limit, |excess| excess.limit),
            ..self.clone()
        }
    }

    /// It is resolved; nothing is left of it if it has no receivers.
    pub(super) fn resolved(&self, now: Timestamp) -> Option<Self> {
        let mut row = Self {
            state: State::Resolved,
            resolved_at: Some(now),
            beat: self.beat + 1,
            ..self.clone()
        };
        row.owe(now, self.receivers.clone());
        row.or_nothing()
    }

    /// The next message for a receiver.
    pub(super) fn next_for(&self, receiver: &str) -> Option<&Owed> {
        self.owed.iter().find(|owed| owed.receiver == receiver)
    }

    /// The alert with the receiver's next message claimed.
    pub(super) fn claimed(&self, receiver: &str, claim: Claim) -> Self {
        let mut row = self.clone();
        if let Some(owed) = row.owed.iter_mut().find(|owed| owed.receiver == receiver) {
            owed.claim = Some(claim);
            owed.tries += 1;
            owed.in_doubt = true;
        }
        row
    }

    /// The alert after an attempt by this owner; unchanged if another process has since taken over the message.
    pub(super) fn settled(
        &self,
        receiver: &str,
        owner: u64,
        tried: &Tried,
        next_at: Timestamp,
    ) -> Option<Self> {
        let mut row = self.clone();
        let is_mine = |owed: &Owed| owed.claim.is_some_and(|claim| claim.owner == owner);
        let place = row.owed.iter().position(|owed| owed.receiver == receiver);
        if let Some(place) = place.filter(|place| is_mine(&row.owed[*place])) {
            match tried {
                Tried::Delivered => drop(row.owed.remove(place)),
                Tried::Refused(why) | Tried::Unclear(why) => {
                    let owed = &mut row.owed[place];
                    owed.claim = None;
                    owed.next_at = next_at;
                    owed.in_doubt = matches!(tried, Tried::Unclear(_));
                    owed.error = Some(why.clone());
                }
            }
        }
        row.or_nothing()
    }

    /// The alert without messages that are too old, or for receivers that have been unknown for long; and how many were
    /// dropped.
    pub(super) fn tidied(&self, now: Timestamp, known: &BTreeSet<&String>) -> (usize, Option<Self>) {
        let keeps = |owed: &Owed| {
            let life = if known.contains(&owed.receiver) {
                MESSAGE_LIFE
            } else {
                STRANGER_LIFE
            };
            now.since(owed.at) < life
        };
        let mut row = self.clone();
        row.owed.retain(keeps);
        (self.owed.len() - row.owed.len(), row.or_nothing())
    }

    fn owe(&mut self, now: Timestamp, receivers: Vec<String>) {
        let row = &*self;
        let owed: Vec<Owed> = receivers
            .into_iter()
            .map(|receiver| Owed {
                receiver,
                state: row.state,
                since: row.since,
                at: now,
                value: row.value,
                limit: row.limit,
                tries: 0,
                next_at: now,
                in_doubt: false,
                claim: None,
                error: None,
            })
            .collect();
        self.owed.extend(owed);
    }

    fn or_nothing(self) -> Option<Self> {
        let is_done = self.state == State::Resolved && self.owed.is_empty();
        (!is_done).then_some(self)
    }
}

impl Owed {
    /// Whether it should be sent now.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let lies_ahead = |at: Timestamp| at > now && at <= now.plus(AHEAD_MAX);
        !lies_ahead(self.next_at) && !self.claim.is_some_and(|claim| lies_ahead(claim.until))
    }

    pub(super) fn message(&self, row: &Row) -> Message {
        Message {
            rule: row.rule,
            subject: row.subject.clone(),
            said: self.state.into(),
            since: self.since,
            at: self.at,
            value: self.value,
            limit: self.limit,
        }
    }
}

#[cfg(test)]
#[path = "row/tests.rs"]
mod tests;

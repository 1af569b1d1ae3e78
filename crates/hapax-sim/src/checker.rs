//! The checker: reads a history and reports which promises it breaks. It knows nothing of the engine or the store.

mod answers;
mod backlog;
mod dead_owners;
mod effects;
mod holders;
mod lanes;
mod losses;

use std::fmt;
use std::time::Duration;

use crate::history::{Entry, Fact, Settled};
use crate::rule::Rule;

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub rule: Rule,
    /// When it was seen.
    pub at: Duration,
    /// What happened.
    pub what: String,
}

impl Violation {
    fn new(rule: Rule, entry: &Entry, what: impl Into<String>) -> Self {
        let (at, what) = (entry.at, what.into());
        Self { rule, at, what }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_secs_f64();
        write!(f, "{:?} at {at:.6}: {}", self.rule, self.what)
    }
}

/// Every promise that a history breaks. `destinations` is the number of destinations of each event.
pub fn check(history: &[Entry], destinations: usize) -> Vec<Violation> {
    let mut violations = answers::check(history, destinations);
    violations.extend(effects::check(history));
    violations.extend(lanes::check(history));
    violations.extend(backlog::check(history));
    violations.extend(holders::check(history));
    violations.extend(losses::check(history));
    violations.extend(dead_owners::check(history));
    violations.extend(unfinished(history));
    violations
}

/// A history without an end counts as unfinished.
fn unfinished(history: &[Entry]) -> Option<Violation> {
    let (at, what) = match history.last() {
        Some(Entry {
            at,
            fact: Fact::Ended { unfinished, settled },
        }) => {
            if (*unfinished, *settled) == (0, Settled::Yes) {
                return None;
            }
            let what = format!("{unfinished} deliveries are left, long after the last fault");
            (*at, what)
        }
        Some(entry) => (entry.at, "the run never ended".to_owned()),
        None => (Duration::ZERO, "nothing happened".to_owned()),
    };
    let rule = Rule::Unfinished;
    Some(Violation { rule, at, what })
}

#[cfg(test)]
mod tests;

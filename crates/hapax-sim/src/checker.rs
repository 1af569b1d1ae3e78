//! The checker: reads a history and says which promises it breaks. It knows nothing of the engine or the store.

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

/// A promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// An event that was answered 2xx takes effect at each of its destinations.
    Lost,
    /// It does so once.
    Doubled,
    /// A forced replay lets it take effect once more, and only once.
    TooOften,
    /// Every 2xx for one identity names the same event.
    TwoIds,
    /// Who is told that an event is done, is told so after its effects.
    DoneTooEarly,
    /// Every attempt at a delivery carries the same key.
    KeyChanged,
    /// Events of one lane take effect in the order in which they were stored.
    OutOfOrder,
    /// A replayed delivery takes the place of its acceptance among those that wait in its lane, and a bulk replay puts
    /// the oldest back first.
    ReplayOutOfOrder,
    /// What is due does not wait while a process that has no trouble stands idle.
    BacklogStands,
    /// Only the holder of the current lease records the end of an attempt.
    StaleWrite,
    /// No one is given a lease that someone else still has.
    TwoHolders,
    /// Every lease has a token greater than all before.
    TokenReused,
    /// A lease is lost only where a fault explains it.
    LossUnexplained,
    /// What a dead process had leased is taken back within 15 s, where another could reach the store all the time.
    HeldByTheDead,
    /// In the end nothing is left to do.
    Unfinished,
}

impl Rule {
    /// Every one.
    pub const ALL: [Self; 15] = [
        Self::Lost,
        Self::Doubled,
        Self::TooOften,
        Self::TwoIds,
        Self::DoneTooEarly,
        Self::KeyChanged,
        Self::OutOfOrder,
        Self::ReplayOutOfOrder,
        Self::BacklogStands,
        Self::StaleWrite,
        Self::TwoHolders,
        Self::TokenReused,
        Self::LossUnexplained,
        Self::HeldByTheDead,
        Self::Unfinished,
    ];
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// When it was seen.
    pub at: Duration,
    /// How.
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

/// Every promise that a history breaks. `destinations` is how many each event goes to.
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

/// A history that does not say how it ended has not ended well.
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
        Some(entry) => (entry.at, "the run never came to its end".to_owned()),
        None => (Duration::ZERO, "nothing happened".to_owned()),
    };
    let rule = Rule::Unfinished;
    Some(Violation { rule, at, what })
}

#[cfg(test)]
mod tests;

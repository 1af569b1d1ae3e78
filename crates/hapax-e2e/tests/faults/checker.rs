//! The checker: a pure function of a history. It knows the promises and nothing about how they are kept.

mod backwards;
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::history::{DestinationKind, Seen, State};

/// Every broken promise, in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    /// Answered 2xx, but without effect.
    pub(super) lost: Vec<String>,
    /// More than one effect where one is allowed.
    pub(super) doubled: Vec<String>,
    /// Attempts at one event under several keys, or at several events under one key.
    pub(super) keys: Vec<String>,
    /// Stored states that went backwards.
    pub(super) backwards: Vec<String>,
    /// Effects in a lane that came after those of later events.
    pub(super) disordered: Vec<String>,
}

impl Findings {
    pub(super) fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// Checks a completed history: nothing is in progress.
pub(super) fn check(history: &[Seen]) -> Findings {
    Findings {
        lost: lost(history),
        doubled: doubled(history),
        keys: keys(history),
        backwards: backwards::backwards(history),
        disordered: disordered(history),
    }
}

/// The events that were answered 2xx.
pub(super) fn answered(history: &[Seen]) -> BTreeSet<&str> {
    let durable = |seen| match seen {
        &Seen::Answered { ref event, status } if (200..300).contains(&status) => Some(event.as_str()),
        Seen::Answered { .. }
        | Seen::Sent { .. }
        | Seen::Attempted { .. }
        | Seen::Applied { .. }
        | Seen::Stored(_) => None,
    };
    history.iter().filter_map(durable).collect()
}

/// The last state in which the store had a delivery.
fn last_stored(history: &[Seen], event: &str, place: DestinationKind) -> Option<State> {
    history.iter().rev().find_map(|seen| match seen {
        Seen::Stored(all) => all.get(&(event.to_owned(), place)).map(|stored| stored.state),
        Seen::Answered { .. } | Seen::Sent { .. } | Seen::Attempted { .. } | Seen::Applied { .. } => None,
    })
}

fn lost(history: &[Seen]) -> Vec<String> {
    let (answered, effects) = (answered(history), effects(history));
    let mut lost = Vec::new();
    for seen in history {
        let Seen::Sent { event, to, .. } = seen else {
            continue;
        };
        for place in to {
            if answered.contains(event.as_str()) && !effects.contains_key(&(event, *place)) {
                let stored = last_stored(history, event, *place);
                lost.push(format!(
                    "{event} was answered 2xx and has no effect at {place:?}, where it is stored as {stored:?}"
                ));
            }
        }
    }
    lost
}

/// Includes events that were never answered 2xx: an effect is allowed, but not two.
fn doubled(history: &[Seen]) -> Vec<String> {
    effects(history)
        .into_iter()
        .filter(|((_, place), count)| *place == DestinationKind::Books && *count > 1)
        .map(|((event, _), count)| format!("{event} took effect {count} times"))
        .collect()
}

/// For each lane: the order of its effects against the order in which its events were sent.
fn disordered(history: &[Seen]) -> Vec<String> {
    let mut sent: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut latest: BTreeMap<usize, usize> = BTreeMap::new();
    let mut disordered = Vec::new();
    for seen in history {
        match seen {
            Seen::Sent {
                event,
                lane: Some(lane),
                ..
            } => {
                sent.insert(event, (*lane, sent.len()));
            }
            Seen::Applied {
                event,
                at: DestinationKind::Books,
            } => {
                let Some(&(lane, number)) = sent.get(event.as_str()) else {
                    continue;
                };
                let latest = latest.entry(lane).or_default();
                if number < *latest {
                    disordered.push(format!("{event} took effect after a later event of lane {lane}"));
                }
                *latest = number.max(*latest);
            }
            Seen::Sent { .. }
            | Seen::Answered { .. }
            | Seen::Attempted { .. }
            | Seen::Applied { .. }
            | Seen::Stored(_) => {}
        }
    }
    disordered
}

fn effects(history: &[Seen]) -> BTreeMap<(&str, DestinationKind), usize> {
    let mut effects = BTreeMap::new();
    for seen in history {
        if let Seen::Applied { event, at } = seen {
            *effects.entry((event.as_str(), *at)).or_default() += 1;
        }
    }
    effects
}

fn keys(history: &[Seen]) -> Vec<String> {
    let mut of_event: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut of_key: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for seen in history {
        if let Seen::Attempted { event, key } = seen {
            of_event.entry(event).or_default().insert(key);
            of_key.entry(key).or_default().insert(event);
        }
    }
    let several = of_event
        .into_iter()
        .filter(|(_, keys)| keys.len() > 1)
        .map(|(event, keys)| format!("{event} was tried under {keys:?}"));
    let shared = of_key
        .into_iter()
        .filter(|(_, events)| events.len() > 1)
        .map(|(key, events)| format!("{key} was the key of {events:?}"));
    let none = history.iter().filter_map(|seen| match seen {
        Seen::Attempted { event, key } if key.is_empty() => Some(format!("{event} was tried without a key")),
        Seen::Attempted { .. }
        | Seen::Sent { .. }
        | Seen::Answered { .. }
        | Seen::Applied { .. }
        | Seen::Stored(_) => None,
    });
    several.chain(shared).chain(none).collect()
}

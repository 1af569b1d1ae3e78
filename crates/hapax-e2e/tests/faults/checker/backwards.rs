//! The order of stored states: by generation, then by token. Nothing goes backwards, and a finished delivery stays
//! finished until an operator replays it.

use std::collections::BTreeMap;

use super::super::history::{DestinationKind, Seen, Stored};

type Deliveries = BTreeMap<(String, DestinationKind), Stored>;

pub(super) fn backwards(history: &[Seen]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut before = &Deliveries::new();
    for seen in history {
        if let Seen::Stored(now) = seen {
            findings.extend(between(before, now));
            before = now;
        }
    }
    findings
}

/// The violations between two snapshots of the store.
fn between(before: &Deliveries, now: &Deliveries) -> Vec<String> {
    let compare = |((event, place), old): (&(String, DestinationKind), &Stored)| {
        let what = match now.get(&(event.clone(), *place)) {
            None => Some("is not stored any more".to_owned()),
            Some(new) => wrong_step(old, new),
        };
        what.map(|what| format!("{event} at {place:?} {what}"))
    };
    before.iter().filter_map(compare).collect()
}

fn wrong_step(old: &Stored, new: &Stored) -> Option<String> {
    let order = |stored: &Stored| (stored.generation, stored.token);
    let reopened = old.state.is_finished() && !new.state.is_finished();
    let why = if order(new) < order(old) {
        "went back"
    } else if new.generation == old.generation && new.key != old.key {
        "changed its key"
    } else if order(new) == order(old) && old.state.is_finished() && new.state != old.state {
        "ended twice under one token"
    } else if reopened && new.generation == old.generation && new.replay == old.replay {
        "had ended and runs again without a replay"
    } else {
        return None;
    };
    Some(format!("{why}: {old:?}, then {new:?}"))
}

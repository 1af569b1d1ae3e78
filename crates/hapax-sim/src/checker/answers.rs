//! Checks the answers that senders got against what happened.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::{DestinationId, EventId};

use super::Violation;
use crate::history::{Entry, Fact};
use crate::rule::Rule;

pub(super) fn check(history: &[Entry], destinations: usize) -> Vec<Violation> {
    let mut violations = two_ids(history);
    violations.extend(lost(history, destinations));
    violations.extend(done_too_early(history, destinations));
    violations
}

fn done_too_early(history: &[Entry], destinations: usize) -> Vec<Violation> {
    let mut effects: BTreeMap<&str, BTreeSet<&DestinationId>> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Effect { delivery, .. } = &entry.fact {
            let seen = effects.entry(&delivery.event).or_default();
            seen.insert(&delivery.destination);
        } else if let Fact::Processed(event) = &entry.fact {
            let so_far = effects.get(event.as_str()).map_or(0, BTreeSet::len);
            if so_far < destinations {
                let what = format!("{event} was reported done after {so_far} of {destinations} effects");
                violations.push(Violation::new(Rule::DoneTooEarly, entry, what));
            }
        }
    }
    violations
}

fn two_ids(history: &[Entry]) -> Vec<Violation> {
    let mut named: BTreeMap<&str, EventId> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history {
        let Fact::Answered { event, told, .. } = &entry.fact else {
            continue;
        };
        let Some(id) = told.id() else { continue };
        let first = *named.entry(event).or_insert(id);
        if first != id {
            let what = format!("{event} was answered as {first} and as {id}");
            violations.push(Violation::new(Rule::TwoIds, entry, what));
        }
    }
    violations
}

fn lost(history: &[Entry], destinations: usize) -> Vec<Violation> {
    let mut effects: BTreeMap<&str, BTreeSet<&DestinationId>> = BTreeMap::new();
    for entry in history {
        if let Fact::Effect { delivery, .. } = &entry.fact {
            let seen = effects.entry(&delivery.event).or_default();
            seen.insert(&delivery.destination);
        }
    }
    let mut promised = BTreeSet::new();
    let mut violations = Vec::new();
    for entry in history {
        let Fact::Answered { event, told, .. } = &entry.fact else {
            continue;
        };
        let took_effect = effects.get(event.as_str()).map_or(0, BTreeSet::len);
        if told.id().is_some() && promised.insert(event) && took_effect < destinations {
            let what = format!("{event} was answered 2xx and took effect at {took_effect} of {destinations}");
            violations.push(Violation::new(Rule::Lost, entry, what));
        }
    }
    violations
}

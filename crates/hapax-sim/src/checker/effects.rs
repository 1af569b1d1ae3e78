//! What destinations saw: effects once and in order, attempts under one key.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::{DestinationId, IdempotencyKey};

use super::{Rule, Violation};
use crate::history::{Delivery, Entry, Fact};
use crate::world::IN_ORDER;

/// An event at a destination, by the sender's id: what must not happen twice, whatever id it has with us.
type Place<'a> = (&'a str, &'a DestinationId);

fn place(delivery: &Delivery) -> Place<'_> {
    (&delivery.event, &delivery.destination)
}

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut violations = doubled(history);
    violations.extend(key_changed(history));
    violations.extend(out_of_order(history));
    violations
}

fn doubled(history: &[Entry]) -> Vec<Violation> {
    let mut seen: BTreeSet<Place<'_>> = BTreeSet::new();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Effect { delivery } = &entry.fact
            && !seen.insert(place(delivery))
        {
            let what = format!("{delivery} took effect again");
            violations.push(Violation::new(Rule::Doubled, entry, what));
        }
    }
    violations
}

fn key_changed(history: &[Entry]) -> Vec<Violation> {
    let mut keys: BTreeMap<Place<'_>, IdempotencyKey> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Attempted { delivery, key } = &entry.fact {
            let first = *keys.entry(place(delivery)).or_insert(*key);
            if first != *key {
                let what = format!("{delivery} was attempted under {first} and under {key}");
                violations.push(Violation::new(Rule::KeyChanged, entry, what));
            }
        }
    }
    violations
}

/// The first effects of a lane, in the order in which its events were stored.
fn out_of_order(history: &[Entry]) -> Vec<Violation> {
    let mut waiting: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut lane_of: BTreeMap<&str, &str> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history {
        match &entry.fact {
            Fact::Stored { event, lane, .. } => {
                if let Some(lane) = lane
                    && lane_of.insert(event, lane).is_none()
                {
                    waiting.entry(lane).or_default().push(event);
                }
            }
            Fact::Effect { delivery } if delivery.destination.as_str() == IN_ORDER => {
                let event = delivery.event.as_str();
                let lane = lane_of.get(event).and_then(|lane| waiting.get_mut(lane));
                let Some(lane) = lane else { continue };
                let Some(behind) = lane.iter().position(|waits| *waits == event) else {
                    continue;
                };
                lane.remove(behind);
                if behind > 0 {
                    let what = format!("{delivery} overtook {}", lane.join(", "));
                    violations.push(Violation::new(Rule::OutOfOrder, entry, what));
                }
            }
            _ => {}
        }
    }
    violations
}

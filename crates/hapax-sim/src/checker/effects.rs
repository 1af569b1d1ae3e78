//! Checks the destinations' view: effects once and in order, attempts under one key.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::{DestinationId, Generation, IdempotencyKey};

use super::Violation;
use crate::history::{Delivery, Entry, Fact};
use crate::rule::Rule;
use crate::world::IN_ORDER;

/// An event at a destination, by the sender's id: this must not take effect twice, whatever its Hapax id. Each
/// generation is separate, because it was requested.
type EffectKey<'a> = (&'a str, &'a DestinationId, Generation);

fn place(delivery: &Delivery, generation: Generation) -> EffectKey<'_> {
    (&delivery.event, &delivery.destination, generation)
}

pub(super) fn check(history: &[Entry]) -> Vec<Violation> {
    let mut violations = doubled(history);
    violations.extend(key_changed(history));
    violations.extend(out_of_order(history));
    violations.extend(too_often(history));
    violations
}

/// Each forced replay adds exactly one generation to an event.
fn too_often(history: &[Entry]) -> Vec<Violation> {
    let mut forced = 0;
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Forced(_) = &entry.fact {
            forced += 1;
        } else if let Fact::Effect { delivery, generation } = &entry.fact
            && generation.0 > forced
        {
            let what =
                format!("{delivery} took effect in generation {generation} after {forced} forced replays");
            violations.push(Violation::new(Rule::TooOften, entry, what));
        }
    }
    violations
}

fn doubled(history: &[Entry]) -> Vec<Violation> {
    let mut seen: BTreeSet<EffectKey<'_>> = BTreeSet::new();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Effect { delivery, generation } = &entry.fact
            && !seen.insert(place(delivery, *generation))
        {
            let what = format!("{delivery} took effect again");
            violations.push(Violation::new(Rule::Doubled, entry, what));
        }
    }
    violations
}

fn key_changed(history: &[Entry]) -> Vec<Violation> {
    let mut keys: BTreeMap<EffectKey<'_>, IdempotencyKey> = BTreeMap::new();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Attempted {
            delivery,
            generation,
            key,
        } = &entry.fact
        {
            let first = *keys.entry(place(delivery, *generation)).or_insert(*key);
            if first != *key {
                let what = format!("{delivery} was attempted under {first} and under {key}");
                violations.push(Violation::new(Rule::KeyChanged, entry, what));
            }
        }
    }
    violations
}

/// The first effects in a lane, in the order in which its events were stored.
fn out_of_order(history: &[Entry]) -> Vec<Violation> {
    let mut lanes = Lanes::default();
    let mut violations = Vec::new();
    for entry in history {
        if let Fact::Stored {
            event,
            lane: Some(lane),
            ..
        } = &entry.fact
        {
            lanes.join(event, lane);
        } else if let Fact::Effect { delivery, .. } = &entry.fact
            && delivery.destination.as_str() == IN_ORDER
            && let Some(overtaken) = lanes.leave(&delivery.event)
        {
            let what = format!("{delivery} overtook {overtaken}");
            violations.push(Violation::new(Rule::OutOfOrder, entry, what));
        }
    }
    violations
}

/// Events that have not yet taken effect, in the order in which they were stored.
#[derive(Default)]
struct Lanes<'a> {
    waiting: BTreeMap<&'a str, Vec<&'a str>>,
    lane_of: BTreeMap<&'a str, &'a str>,
}

impl<'a> Lanes<'a> {
    fn join(&mut self, event: &'a str, lane: &'a str) {
        if self.lane_of.insert(event, lane).is_none() {
            self.waiting.entry(lane).or_default().push(event);
        }
    }

    /// Removes an event. Returns the head of its lane, if that is another event.
    fn leave(&mut self, event: &str) -> Option<&'a str> {
        let waiting = self.waiting.get_mut(self.lane_of.get(event)?)?;
        let place = waiting.iter().position(|waits| *waits == event)?;
        let head = waiting.first().copied();
        waiting.remove(place);
        head.filter(|_| place > 0)
    }
}

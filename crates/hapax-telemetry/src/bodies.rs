//! The most recent bodies of a source, to detect providers whose ids are not stable.
//!
//! A provider that generates a new id for every delivery seems never to send a duplicate: each one looks like a new
//! event. Identical bodies reveal it. The table of remembered bodies is bounded, which is enough to detect a pattern.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hapax_core::BodyHash;
use parking_lot::Mutex;

/// Bodies remembered per source, about a hundred kilobytes.
const BODIES_MAX: usize = 4_096;

/// The bodies of the most recent events, each with the id under which it first arrived.
#[derive(Debug, Default)]
pub(super) struct Bodies(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// From the first bytes of a body's hash to a hash of its event id.
    ids: HashMap<u64, u64>,
    /// In order of arrival.
    order: VecDeque<u64>,
}

impl Bodies {
    /// Records a new event. Returns whether the same body recently arrived under another id.
    pub(super) fn is_twin(&self, body: BodyHash, event_id: &str) -> bool {
        let (body, id) = (prefix(body), hash(event_id));
        let mut remembered = self.0.lock();
        if let Some(first) = remembered.ids.get(&body) {
            return *first != id;
        }
        remembered.push(body, id);
        false
    }
}

impl Remembered {
    fn push(&mut self, body: u64, id: u64) {
        if self.order.len() == BODIES_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        self.order.push_back(body);
        self.ids.insert(body, id);
    }
}

fn prefix(body: BodyHash) -> u64 {
    let first = body.as_bytes().iter().take(8);
    first.fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

fn hash(event_id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    event_id.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_under_another_id_is_a_twin_and_under_its_own_it_is_not() {
        let bodies = Bodies::default();
        let body = BodyHash::of(b"{}");
        assert!(!bodies.is_twin(body, "evt_1"));
        assert!(!bodies.is_twin(body, "evt_1"), "it was forgotten and came again");
        assert!(bodies.is_twin(body, "evt_2"));
        assert!(!bodies.is_twin(BodyHash::of(b"[]"), "evt_3"));
    }

    #[test]
    fn the_oldest_bodies_are_forgotten() {
        let bodies = Bodies::default();
        for number in 0..=BODIES_MAX {
            bodies.is_twin(BodyHash::of(&number.to_le_bytes()), "evt");
        }
        let remembered = bodies.0.lock();
        assert_eq!(
            (remembered.ids.len(), remembered.order.len()),
            (BODIES_MAX, BODIES_MAX)
        );
        drop(remembered);
        assert!(!bodies.is_twin(BodyHash::of(&0_usize.to_le_bytes()), "other"));
        assert!(bodies.is_twin(BodyHash::of(&9_usize.to_le_bytes()), "other"));
    }
}

//! The last bodies of a source, to find senders whose ids are not stable.
//!
//! A sender that makes a new id for every delivery looks like one that never repeats itself: each copy is a new event.
//! Its bodies give it away. Only as many are remembered as fit in a bounded table, which is enough to see a habit.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hapax_core::BodyHash;
use parking_lot::Mutex;

/// Bodies that are remembered for each source, about a hundred kilobytes.
const BODIES_MAX: usize = 4_096;

/// The bodies of the newest events, each with the id it came under first.
#[derive(Debug, Default)]
pub(super) struct Bodies(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    /// From the first bytes of a body's hash to a hash of its id.
    ids: HashMap<u64, u64>,
    /// In order of arrival.
    order: VecDeque<u64>,
}

impl Bodies {
    /// A new event came; whether its very body came shortly before under another id.
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

//! Gathers counts off the hot path: duplicates of events, and bodies under unsigned ids.
//!
//! Lossy by design: counts that were not flushed are lost when the process dies, and under a flood of different ids the
//! surplus is counted but not stored. Duplicates write nothing on the hot path.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

use hapax_core::store::{BodyNote, DuplicateNote, GAPS_MAX};
use hapax_core::{Key, Timestamp};
use parking_lot::Mutex;

use crate::generations::KeyHasher;

/// Ids whose duplicates are counted between flushes.
const KEYS_MAX: usize = 65_536;
/// Bodies waiting to be recorded.
const BODIES_MAX: usize = 8_192;
/// Rows written per flush, so that a storm of duplicates cannot crowd out accepts.
const FLUSH_MAX: usize = 1_000;

/// Counts gathered and not yet flushed.
#[derive(Debug, Default)]
pub(crate) struct Gather(Mutex<Gathered>);

#[derive(Debug, Default)]
struct Gathered {
    duplicates: HashMap<Key, DuplicateNote, BuildHasherDefault<KeyHasher>>,
    uncounted: u64,
    bodies: Vec<BodyNote>,
}

impl Gather {
    /// A duplicate arrived.
    pub(crate) fn duplicate(&self, key: Key, first_seen: Timestamp, at: Timestamp) {
        let gap_ms = u64::try_from(at.since(first_seen).as_millis()).unwrap_or(u64::MAX);
        let gathered = &mut *self.0.lock();
        let is_full = gathered.duplicates.len() >= KEYS_MAX;
        match gathered.duplicates.entry(key) {
            Entry::Occupied(noted) => {
                let note = noted.into_mut();
                note.count += 1;
                note.last_at = note.last_at.max(at);
                if note.gaps_ms.len() == GAPS_MAX {
                    note.gaps_ms.remove(0);
                }
                note.gaps_ms.push(gap_ms);
            }
            Entry::Vacant(_) if is_full => gathered.uncounted += 1,
            Entry::Vacant(free) => {
                free.insert(DuplicateNote {
                    key,
                    count: 1,
                    last_at: at,
                    gaps_ms: vec![gap_ms],
                });
            }
        }
    }

    /// A new event whose id is not signed arrived.
    pub(crate) fn body(&self, note: BodyNote) {
        let mut gathered = self.0.lock();
        if gathered.bodies.len() < BODIES_MAX {
            gathered.bodies.push(note);
        }
    }

    /// One bounded portion of the counts, and how many duplicates were not counted.
    pub(crate) fn take(&self) -> (Vec<DuplicateNote>, Vec<BodyNote>, u64) {
        let mut gathered = self.0.lock();
        let keys: Vec<Key> = gathered.duplicates.keys().take(FLUSH_MAX).copied().collect();
        let duplicates = keys
            .iter()
            .filter_map(|key| gathered.duplicates.remove(key))
            .collect();
        let bodies_taken = gathered.bodies.len().min(FLUSH_MAX);
        let bodies = gathered.bodies.drain(..bodies_taken).collect();
        (duplicates, bodies, std::mem::take(&mut gathered.uncounted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_core::Identity;

    #[test]
    fn duplicates_are_tallied_with_their_last_gaps() {
        let gather = Gather::default();
        let key = Identity::new("scope", "id").key();
        for second in 1..=30 {
            gather.duplicate(key, Timestamp::from_seconds(0), Timestamp::from_seconds(second));
        }
        let (duplicates, _, _) = gather.take();
        assert_eq!(duplicates[0].count, 30);
        assert_eq!(duplicates[0].gaps_ms.len(), GAPS_MAX);
        assert_eq!(duplicates[0].gaps_ms.last(), Some(&30_000));
    }

    #[test]
    fn a_flood_of_ids_is_bounded_and_said_so() {
        let gather = Gather::default();
        let now = Timestamp::from_seconds(1);
        for number in 0..KEYS_MAX + 5 {
            gather.duplicate(Identity::new("scope", number.to_string()).key(), now, now);
        }
        let (duplicates, _, uncounted) = gather.take();
        assert_eq!((duplicates.len(), uncounted), (FLUSH_MAX, 5));
    }
}

//! A bounded table whose older half is forgotten at once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Entries by a key that is evenly distributed, in two generations.
#[derive(Debug)]
pub(crate) struct Generations<K, V> {
    young: Table<K, V>,
    old: Table<K, V>,
    /// The most entries of one generation.
    most: usize,
}

type Table<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

impl<K: Eq + Hash, V> Generations<K, V> {
    /// An empty table for at most `entries_max` entries.
    pub(crate) fn new(entries_max: usize) -> Self {
        Self {
            young: Table::default(),
            old: Table::default(),
            // A table is at most seven eighths full; one more entry would double it.
            most: (entries_max / 2 * 7 / 8).max(1),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    /// Adds or replaces an entry. If there are too many, the older half is forgotten.
    pub(crate) fn put(&mut self, key: K, value: V) {
        if self.young.len() >= self.most {
            // Its memory is used again: it has room for as many as it ever had.
            self.old.clear();
            std::mem::swap(&mut self.young, &mut self.old);
        }
        self.young.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// Forgets everything, and frees the memory.
    pub(crate) fn clear(&mut self) {
        self.young = Table::default();
        self.old = Table::default();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

/// Ledger keys are SHA-256 already, and fingerprints are as random: any eight of their bytes are a good hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // A key hashes its length (ignored) and its sixteen bytes. The second half is used because the first byte of
        // the first half may already have selected a shard.
        if let Some(half) = bytes.last_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*half);
        }
    }

    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_younger_half_stays_and_the_newer_value_counts() {
        let mut table = Generations::new(16);
        for number in 0..100_u128 {
            table.put(number.to_be_bytes(), number);
            assert!(table.len() <= 16, "{} entries", table.len());
            for recent in number.saturating_sub(6)..=number {
                assert_eq!(table.get(&recent.to_be_bytes()), Some(&recent));
            }
        }
        table.put(99_u128.to_be_bytes(), 7);
        assert_eq!(table.get(&99_u128.to_be_bytes()), Some(&7));
        table.remove(&99_u128.to_be_bytes());
        assert_eq!(table.get(&99_u128.to_be_bytes()), None);
        table.clear();
        assert_eq!(table.len(), 0);
    }
}

//! The seen-cache: answers duplicates of committed events without asking the store.
//!
//! It holds only entries that the store has committed, each with its hash and for at most the configured time from
//! *before* the store was asked, so that `forget` can wait it out. All entries are dropped when the store's connection
//! is re-established: after a failover, committed rows may be gone.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax_core::store::LedgerEntry;
use hapax_core::{BodyHash, ContentHash, EventId, Key, Timestamp};
use parking_lot::Mutex;

const SHARDS: usize = 16;

#[derive(Debug)]
pub(crate) struct Seen {
    shards: Vec<Mutex<Shard>>,
    entries_max: usize,
    lifetime: Duration,
    epoch: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    young: Entries,
    old: Entries,
}

impl Shard {
    /// Forgets the old entries. Their table is used again: as it is, it has room for as many as it ever had.
    fn turn(&mut self) {
        self.old.clear();
        std::mem::swap(&mut self.young, &mut self.old);
    }
}

type Entries = HashMap<Key, Entry, BuildHasherDefault<KeyHasher>>;

/// What a duplicate is compared with. There are hundreds of thousands, so nothing else of the ledger entry is stored.
#[derive(Debug)]
pub(crate) struct Known {
    /// The first event's id.
    pub(crate) id: EventId,
    /// When the first event was committed.
    pub(crate) first_seen: Timestamp,
    /// SHA-256 of the first event's raw bytes.
    pub(crate) raw_hash: BodyHash,
    /// The first event's content hash; few presets have one.
    pub(crate) content_hash: Option<Box<ContentHash>>,
}

#[derive(Debug)]
struct Entry {
    known: Known,
    until: Duration,
}

impl Seen {
    pub(crate) fn new(entries_max: usize, lifetime: Duration) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        // Two generations in each shard share the limit. A table is at most seven eighths full; one more entry would
        // double it.
        Self {
            shards,
            entries_max: (entries_max / SHARDS / 2 * 7 / 8).max(1),
            lifetime,
            epoch: AtomicU64::new(0),
        }
    }

    pub(crate) const fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// What `read` takes from the entry for `key`, unless the entry is too old or from another store connection. The
    /// entry is locked meanwhile: `read` must not hash anything.
    pub(crate) fn get<T>(
        &self,
        key: Key,
        now: Duration,
        epoch: u64,
        read: impl FnOnce(&Known) -> T,
    ) -> Option<T> {
        if self.epoch.load(Ordering::Acquire) != epoch {
            self.restart(epoch);
            return None;
        }
        let shard = self.shard(key).lock();
        let entry = shard.young.get(&key).or_else(|| shard.old.get(&key))?;
        (entry.until > now).then(|| read(&entry.known))
    }

    /// Remembers a committed entry that was read after the time `asked`, over connection `epoch`.
    pub(crate) fn put(&self, key: Key, ledger: LedgerEntry, asked: Duration, epoch: u64) {
        if self.lifetime.is_zero() || self.epoch.load(Ordering::Acquire) != epoch {
            return;
        }
        let entry = Entry {
            known: Known {
                id: ledger.id,
                first_seen: ledger.first_seen,
                raw_hash: ledger.raw_hash,
                content_hash: ledger.content_hash.map(Box::new),
            },
            until: asked + self.lifetime,
        };
        let mut shard = self.shard(key).lock();
        if shard.young.len() >= self.entries_max {
            shard.turn();
        }
        shard.young.insert(key, entry);
    }

    pub(crate) fn forget(&self, key: Key) {
        let mut shard = self.shard(key).lock();
        shard.young.remove(&key);
        shard.old.remove(&key);
    }

    fn restart(&self, epoch: u64) {
        for shard in &self.shards {
            *shard.lock() = Shard::default();
        }
        self.epoch.store(epoch, Ordering::Release);
    }

    fn shard(&self, key: Key) -> &Mutex<Shard> {
        &self.shards[usize::from(key.as_bytes()[0]) % SHARDS]
    }
}

/// Ledger keys are SHA-256 already: any eight of their bytes are a good hash.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // `Key` hashes its length (ignored) and its sixteen bytes. The second half is used because the first byte of
        // the first half already selected the shard.
        if let Some(half) = bytes.last_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*half);
        }
    }

    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use hapax_core::{EventIds, Generation, Identity, SystemRandom};

    const SECOND: Duration = Duration::from_secs(1);

    fn is_known(seen: &Seen, key: Key, now: Duration, epoch: u64) -> bool {
        seen.get(key, now, epoch, |_| ()).is_some()
    }

    fn key(number: u32) -> Key {
        Identity::new("scope", number.to_string()).key()
    }

    fn ledger(key: Key) -> LedgerEntry {
        let now = Timestamp::from_seconds(1);
        LedgerEntry {
            id: EventIds::default().next(now, key, &SystemRandom::new()),
            generation: Generation(0),
            first_seen: now,
            expires_at: now,
            raw_hash: BodyHash::of(b""),
            content_hash: None,
        }
    }

    #[test]
    fn an_entry_lives_from_before_the_store_was_asked_and_no_longer() {
        let seen = Seen::new(100, 10 * SECOND);
        seen.put(key(1), ledger(key(1)), 5 * SECOND, 0);
        assert!(is_known(&seen, key(1), 14 * SECOND, 0));
        assert!(!is_known(&seen, key(1), 15 * SECOND, 0));
    }

    #[test]
    fn a_new_connection_of_the_store_empties_it_and_late_entries_stay_out() {
        let seen = Seen::new(100, 10 * SECOND);
        seen.put(key(1), ledger(key(1)), SECOND, 0);
        assert!(!is_known(&seen, key(1), SECOND, 1));
        seen.put(key(2), ledger(key(2)), SECOND, 0);
        assert!(!is_known(&seen, key(2), SECOND, 1));
        assert!(!is_known(&seen, key(1), SECOND, 1));
    }

    #[test]
    fn an_entry_is_small() {
        assert!(
            size_of::<(Key, Entry)>() <= 96,
            "{} bytes",
            size_of::<(Key, Entry)>()
        );
    }

    #[test]
    fn it_never_holds_more_than_its_limit() {
        let seen = Seen::new(64, 10 * SECOND);
        for number in 0..10_000 {
            seen.put(key(number), ledger(key(number)), SECOND, 0);
        }
        let held: usize = seen
            .shards
            .iter()
            .map(|shard| {
                let shard = shard.lock();
                shard.young.len() + shard.old.len()
            })
            .sum();
        assert!(held <= 64, "{held} entries");
    }
}

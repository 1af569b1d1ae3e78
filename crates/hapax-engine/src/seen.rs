//! The seen-cache: answers duplicates of committed events without asking the store.
//!
//! It holds only entries that the store has committed, each with its hash and for at most the configured time from
//! *before* the store was asked, so that `forget` can wait it out. All entries are dropped when the store's connection
//! is re-established: after a failover, committed rows may be gone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax_core::store::LedgerEntry;
use hapax_core::{BodyHash, ContentHash, EventId, Key, Timestamp};
use parking_lot::Mutex;

use crate::generations::Generations;

const SHARDS: usize = 16;

#[derive(Debug)]
pub(crate) struct Seen {
    shards: Vec<Mutex<Shard>>,
    lifetime: Duration,
    epoch: AtomicU64,
}

type Shard = Generations<Key, Entry>;

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
        let shard = || Mutex::new(Shard::new(entries_max / SHARDS));
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            lifetime,
            epoch: AtomicU64::new(0),
        }
    }

    pub(crate) const fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// What `read` takes from the entry for `key`, unless the entry is too old or from another store connection. `read`
    /// runs under a lock that others wait for, so it must be quick: no hashing.
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
        let entry = shard.get(&key)?;
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
        self.shard(key).lock().put(key, entry);
    }

    pub(crate) fn forget(&self, key: Key) {
        self.shard(key).lock().remove(&key);
    }

    fn restart(&self, epoch: u64) {
        for shard in &self.shards {
            shard.lock().clear();
        }
        self.epoch.store(epoch, Ordering::Release);
    }

    fn shard(&self, key: Key) -> &Mutex<Shard> {
        &self.shards[usize::from(key.as_bytes()[0]) % SHARDS]
    }
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
        let held: usize = seen.shards.iter().map(|shard| shard.lock().len()).sum();
        assert!(held <= 64, "{held} entries");
    }
}

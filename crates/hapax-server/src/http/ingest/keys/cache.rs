//! The keys that are kept, and the ids that are known to have none: a bounded number of each, for a bounded time.

use std::collections::HashMap;
use std::time::Duration;

use hapax_core::SourceName;
use serde::Deserialize;

use super::CacheKey;

/// How many entries are kept.
const ENTRIES_MAX: usize = 1024;
/// How long a key is used: senders withdraw keys, and that has to be noticed.
const KNOWN_FOR: Duration = Duration::from_secs(3600);
/// How long an id without a key is not asked for again.
const UNKNOWN_FOR: Duration = Duration::from_secs(60);

/// What is known about an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Its key.
    Known(Vec<u8>),
    /// That it has none.
    Unknown,
}

/// Entries with the time until which they count.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<CacheKey, (Entry, Duration)>,
    epoch: Epoch,
}

/// The time between two clears: what was asked for in one is not kept in the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(u64);

impl Cache {
    pub(super) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.epoch = Epoch(self.epoch.0.wrapping_add(1));
    }

    pub(super) fn get(&self, key: &CacheKey, now: Duration) -> Option<Entry> {
        let (entry, until) = self.entries.get(key)?;
        (now < *until).then(|| entry.clone())
    }

    /// Forgets everything of one source.
    pub(super) fn forget(&mut self, source: &SourceName) {
        self.entries.retain(|(owner, _), _| owner != source);
    }

    /// Keeps an entry. Where there is no room, ids without a key go first: anybody can make those up.
    pub(super) fn put(&mut self, epoch: Epoch, key: CacheKey, entry: Entry, now: Duration) {
        if epoch != self.epoch {
            return;
        }
        if self.entries.len() >= ENTRIES_MAX && !self.entries.contains_key(&key) {
            self.make_room(now);
        }
        let kept_for = match &entry {
            Entry::Known(bytes) => lifetime(bytes).unwrap_or(KNOWN_FOR).min(KNOWN_FOR),
            Entry::Unknown => UNKNOWN_FOR,
        };
        self.entries.insert(key, (entry, now + kept_for));
    }

    fn make_room(&mut self, now: Duration) {
        self.entries.retain(|_, (_, until)| now < *until);
        if self.entries.len() < ENTRIES_MAX {
            return;
        }
        let rank = |(entry, until): &(Entry, Duration)| (matches!(entry, Entry::Known(_)), *until);
        let first = self.entries.iter().min_by_key(|(_, value)| rank(value));
        if let Some(key) = first.map(|(key, _)| key.clone()) {
            self.entries.remove(&key);
        }
    }
}

/// How long an access token says that it is good for.
fn lifetime(bytes: &[u8]) -> Option<Duration> {
    #[derive(Deserialize)]
    struct Token {
        expires_in: u64,
    }
    let token: Token = serde_json::from_slice(bytes).ok()?;
    Some(Duration::from_secs(token.expires_in))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> CacheKey {
        (SourceName::from("source"), id.to_owned())
    }

    #[test]
    fn a_key_is_kept_for_an_hour_and_an_unknown_id_for_a_minute() {
        let mut cache = Cache::default();
        cache.put(Epoch::default(), key("a"), Entry::Known(vec![1]), Duration::ZERO);
        cache.put(Epoch::default(), key("b"), Entry::Unknown, Duration::ZERO);
        assert_eq!(
            cache.get(&key("b"), Duration::from_secs(59)),
            Some(Entry::Unknown)
        );
        assert_eq!(cache.get(&key("b"), Duration::from_secs(60)), None);
        assert_eq!(
            cache.get(&key("a"), Duration::from_secs(3599)),
            Some(Entry::Known(vec![1]))
        );
        assert_eq!(cache.get(&key("a"), Duration::from_secs(3600)), None);
    }

    #[test]
    fn an_access_token_is_kept_for_as_long_as_it_says_and_never_longer_than_a_key() {
        let mut cache = Cache::default();
        for (id, seconds) in [("short", 90), ("long", 32_400)] {
            let token = format!("{{\"access_token\":\"t\",\"expires_in\":{seconds}}}");
            cache.put(
                Epoch::default(),
                key(id),
                Entry::Known(token.into_bytes()),
                Duration::ZERO,
            );
        }
        assert!(cache.get(&key("short"), Duration::from_secs(89)).is_some());
        assert!(cache.get(&key("short"), Duration::from_secs(90)).is_none());
        assert!(cache.get(&key("long"), Duration::from_secs(3600)).is_none());
        cache.forget(&SourceName::from("other"));
        assert!(cache.get(&key("short"), Duration::ZERO).is_some());
        cache.forget(&SourceName::from("source"));
        assert!(cache.get(&key("short"), Duration::ZERO).is_none());
    }

    #[test]
    fn ids_that_somebody_makes_up_never_drive_out_a_key() {
        let mut cache = Cache::default();
        cache.put(
            Epoch::default(),
            key("genuine"),
            Entry::Known(vec![1]),
            Duration::ZERO,
        );
        for number in 0..ENTRIES_MAX * 2 {
            cache.put(
                Epoch::default(),
                key(&number.to_string()),
                Entry::Unknown,
                Duration::ZERO,
            );
        }
        assert!(cache.entries.len() <= ENTRIES_MAX);
        assert!(cache.get(&key("genuine"), Duration::ZERO).is_some());
    }

    #[test]
    fn what_was_asked_for_before_a_clear_is_not_kept_after_it() {
        let mut cache = Cache::default();
        let before = cache.epoch();
        cache.clear();
        cache.put(before, key("a"), Entry::Known(vec![1]), Duration::ZERO);
        assert_eq!(cache.get(&key("a"), Duration::ZERO), None);
        cache.put(cache.epoch(), key("a"), Entry::Known(vec![1]), Duration::ZERO);
        assert!(cache.get(&key("a"), Duration::ZERO).is_some());
    }

    #[test]
    fn a_key_belongs_to_its_source_alone() {
        let mut cache = Cache::default();
        cache.put(Epoch::default(), key("a"), Entry::Known(vec![1]), Duration::ZERO);
        let other = (SourceName::from("other"), "a".to_owned());
        assert_eq!(cache.get(&other, Duration::ZERO), None);
    }
}

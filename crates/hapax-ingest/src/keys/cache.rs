//! A source's cache: the keys and answers that were fetched from the provider, and the ids for which it has no key. The
//! number of each is limited, and so is the time.
//!
//! A key that has verified a request is *trusted*: it is fetched again before it expires, it remains usable while the
//! server cannot be reached, and it is the last to be evicted. Anyone can name a key, but only the provider can sign
//! with it.

use std::collections::HashMap;
use std::time::Duration;

use hapax_verify::{KeyKind, KeyRequest};
use serde::Deserialize;

use super::Outcome;

/// The most keys and answers in the cache.
const KEPT_MAX: usize = 512;
/// The most ids without a key that are remembered.
const UNKNOWN_MAX: usize = 256;
/// How long a key is valid after it was fetched. Providers revoke keys, and that has to be noticed.
const KEPT_FOR: Duration = Duration::from_secs(3600);
/// The longest that a trusted key is valid after it was fetched, while the provider's server fails.
const STALE_FOR: Duration = Duration::from_secs(24 * 3600);
/// How long to wait after a failed refresh. The key is valid for twice as long, so that no request has to wait for the
/// next one.
const RETRY_AFTER: Duration = Duration::from_secs(30);
/// How long an id without a key is not requested again.
const UNKNOWN_FOR: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct Cache {
    kept: HashMap<String, Kept>,
    /// Ids without a key, and until when each is remembered.
    unknown: HashMap<String, Duration>,
}

#[derive(Clone)]
struct Kept {
    bytes: Vec<u8>,
    /// The request that fetched it, to repeat it.
    request: KeyRequest,
    fetched_at: Duration,
    refresh_at: Duration,
    counts_until: Duration,
    is_trusted: bool,
}

/// A valid key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    /// The request to make now, to refresh the key before it expires.
    pub(super) refresh: Option<KeyRequest>,
}

impl Cache {
    /// The known outcome for an id, if any.
    pub(super) fn outcome(&self, key_id: &str, now: Duration) -> Option<Outcome> {
        let counts = |kept: &Kept| now < kept.counts_until;
        if self.kept.get(key_id).is_some_and(counts) {
            return Some(Outcome::Known);
        }
        let is_unknown = self.unknown.get(key_id).is_some_and(|until| now < *until);
        is_unknown.then_some(Outcome::Unknown)
    }

    /// The key with an id. At most once per interval, it is returned with a request to refresh it.
    pub(super) fn get(&mut self, key_id: &str, now: Duration) -> Option<Found> {
        let kept = self.kept.get_mut(key_id)?;
        if now >= kept.counts_until {
            return None;
        }
        let is_due = kept.is_trusted && now >= kept.refresh_at;
        if is_due {
            kept.refresh_at = now + RETRY_AFTER;
        }
        Some(Found {
            bytes: kept.bytes.clone(),
            refresh: is_due.then(|| kept.request.clone()),
        })
    }

    /// Records that these keys have verified a request.
    pub(super) fn trust<'a>(&mut self, key_ids: impl IntoIterator<Item = &'a String>) {
        for key_id in key_ids {
            if let Some(kept) = self.kept.get_mut(key_id) {
                kept.is_trusted = kept.request.kind != KeyKind::Answer;
            }
        }
    }

    /// Whether the key has verified a request before, even if it is no longer valid.
    pub(super) fn is_trusted(&self, key_id: &str) -> bool {
        self.kept.get(key_id).is_some_and(|kept| kept.is_trusted)
    }

    /// Stores a provider's response.
    pub(super) fn put(&mut self, request: &KeyRequest, bytes: Vec<u8>, now: Duration) {
        self.unknown.remove(&request.key_id);
        if self.kept.len() >= KEPT_MAX && !self.kept.contains_key(&request.key_id) {
            remove_least(&mut self.kept, |kept| (kept.is_trusted, kept.fetched_at));
        }
        let kept_for = lifetime(request, &bytes);
        let kept = Kept {
            bytes,
            fetched_at: now,
            refresh_at: now + kept_for * 3 / 4,
            counts_until: now + kept_for,
            is_trusted: self.is_trusted(&request.key_id),
            request: request.clone(),
        };
        self.kept.insert(request.key_id.clone(), kept);
    }

    /// Records that the provider has no such key, or no longer has it.
    pub(super) fn put_unknown(&mut self, key_id: &str, now: Duration) {
        self.kept.remove(key_id);
        if self.unknown.len() >= UNKNOWN_MAX && !self.unknown.contains_key(key_id) {
            remove_least(&mut self.unknown, |until| *until);
        }
        self.unknown.insert(key_id.to_owned(), now + UNKNOWN_FOR);
    }

    /// Extends the validity of a trusted key, because the provider's server failed. Not for a key that came from
    /// another URL, and not beyond [`STALE_FOR`]. Returns whether the key is valid.
    pub(super) fn extend(&mut self, request: &KeyRequest, now: Duration) -> bool {
        let Some(kept) = self.kept.get_mut(&request.key_id) else {
            return false;
        };
        let may_be_stale =
            kept.is_trusted && kept.request.kind == KeyKind::Published && kept.request.url == request.url;
        if may_be_stale {
            let extended = (now + RETRY_AFTER * 2).min(kept.fetched_at + STALE_FOR);
            kept.counts_until = kept.counts_until.max(extended);
            kept.refresh_at = now + RETRY_AFTER;
        }
        now < kept.counts_until
    }

    /// Forgets the access tokens for the provider's API.
    pub(super) fn forget_tokens(&mut self) {
        self.kept.retain(|_, kept| kept.request.kind != KeyKind::Token);
    }

    /// The cache after a reload, which may have changed the servers: only trusted keys, in case they cannot be fetched
    /// again.
    pub(super) fn after_reload(&self) -> Self {
        let published = |kept: &&Kept| kept.is_trusted && kept.request.kind == KeyKind::Published;
        let expired = |kept: &Kept| Kept {
            counts_until: Duration::ZERO,
            ..kept.clone()
        };
        let left = self.kept.values().filter(published).map(expired);
        Self {
            kept: left.map(|kept| (kept.request.key_id.clone(), kept)).collect(),
            unknown: HashMap::new(),
        }
    }
}

fn remove_least<V, K: Ord>(entries: &mut HashMap<String, V>, rank: impl Fn(&V) -> K) {
    let least = entries.iter().min_by_key(|(_, value)| rank(value));
    if let Some(key_id) = least.map(|(key_id, _)| key_id.clone()) {
        entries.remove(&key_id);
    }
}

/// How long a response is valid. An access token states its own lifetime.
fn lifetime(request: &KeyRequest, bytes: &[u8]) -> Duration {
    #[derive(Deserialize)]
    struct Token {
        expires_in: u64,
    }
    let stated = match request.kind {
        KeyKind::Token => serde_json::from_slice(bytes).ok(),
        KeyKind::Published | KeyKind::Answer => None,
    };
    let stated = stated.map(|token: Token| Duration::from_secs(token.expires_in));
    stated.unwrap_or(KEPT_FOR).min(KEPT_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn request(kind: KeyKind, key_id: &str) -> KeyRequest {
        KeyRequest {
            url: format!("https://keys.example/{key_id}"),
            key_id: key_id.to_owned(),
            kind,
            question: None,
            expects: "",
        }
    }

    fn published(key_id: &str) -> KeyRequest {
        request(KeyKind::Published, key_id)
    }

    fn trusted(key_id: &str) -> Cache {
        let mut cache = Cache::default();
        cache.put(&published(key_id), vec![1], Duration::ZERO);
        cache.trust(&[key_id.to_owned()]);
        cache
    }

    #[test]
    fn a_key_counts_for_an_hour_and_an_unknown_id_for_a_minute() {
        let mut cache = Cache::default();
        cache.put(&published("a"), vec![1], Duration::ZERO);
        cache.put_unknown("b", Duration::ZERO);
        assert_eq!(
            cache.outcome("b", Duration::from_secs(59)),
            Some(Outcome::Unknown)
        );
        assert_eq!(cache.outcome("b", MINUTE), None);
        assert_eq!(
            cache.outcome("a", Duration::from_secs(3599)),
            Some(Outcome::Known)
        );
        assert_eq!(cache.outcome("a", MINUTE * 60), None);
        assert_eq!(cache.get("a", MINUTE * 60), None);
    }

    #[test]
    fn a_trusted_key_is_refreshed_before_it_expires_once_at_a_time() {
        let mut cache = trusted("a");
        let is_due = |cache: &mut Cache, at| cache.get("a", at).unwrap().refresh.is_some();
        assert!(!is_due(&mut cache, MINUTE * 44));
        assert!(is_due(&mut cache, MINUTE * 45));
        assert!(!is_due(&mut cache, MINUTE * 45), "one is under way");
        assert!(is_due(&mut cache, MINUTE * 46), "it did not come back");
        cache.put(&published("a"), vec![2], MINUTE * 46);
        assert!(!is_due(&mut cache, MINUTE * 90), "it is fresh");
        assert!(is_due(&mut cache, MINUTE * 91), "and still trusted");
    }

    #[test]
    fn a_key_that_proved_nothing_is_never_refreshed_nor_used_when_stale() {
        let mut cache = Cache::default();
        cache.put(&published("a"), vec![1], Duration::ZERO);
        assert_eq!(cache.get("a", MINUTE * 59).unwrap().refresh, None);
        assert!(!cache.extend(&published("a"), MINUTE * 60));
    }

    #[test]
    fn a_trusted_key_outlives_its_providers_server_for_a_day() {
        let mut cache = trusted("a");
        let mut now = MINUTE * 45;
        while now + MINUTE < STALE_FOR {
            assert!(cache.extend(&published("a"), now));
            assert!(cache.get("a", now + RETRY_AFTER).is_some());
            now += MINUTE;
        }
        assert!(!cache.extend(&published("a"), STALE_FOR));
        assert_eq!(cache.get("a", STALE_FOR), None);
    }

    #[test]
    fn a_key_that_its_provider_withdrew_is_gone_at_once() {
        let mut cache = trusted("a");
        cache.put_unknown("a", MINUTE);
        assert_eq!(cache.get("a", MINUTE), None);
        assert!(!cache.extend(&published("a"), MINUTE));
    }

    #[test]
    fn neither_made_up_ids_nor_other_genuine_keys_drive_out_a_trusted_one() {
        let mut cache = trusted("genuine");
        for number in 0..KEPT_MAX * 2 {
            let now = Duration::from_millis(1 + number as u64);
            cache.put_unknown(&format!("made up {number}"), now);
            cache.put(&published(&format!("another {number}")), vec![2], now);
            cache.put(
                &request(KeyKind::Answer, &format!("answer {number}")),
                vec![3],
                now,
            );
        }
        assert_eq!((cache.kept.len(), cache.unknown.len()), (KEPT_MAX, UNKNOWN_MAX));
        assert!(cache.get("genuine", MINUTE).is_some());
    }

    #[test]
    fn a_token_counts_for_as_long_as_it_says_and_never_longer_than_a_key() {
        let mut cache = Cache::default();
        for (key_id, seconds) in [("short", 90), ("long", 32_400)] {
            let token = format!("{{\"access_token\":\"t\",\"expires_in\":{seconds}}}");
            cache.put(
                &request(KeyKind::Token, key_id),
                token.into_bytes(),
                Duration::ZERO,
            );
        }
        cache.trust(&["short".to_owned()]);
        assert!(cache.get("short", Duration::from_secs(89)).is_some());
        assert!(cache.get("short", Duration::from_secs(90)).is_none());
        assert!(!cache.extend(&request(KeyKind::Token, "short"), Duration::from_secs(90)));
        assert!(cache.get("long", MINUTE * 60).is_none());
        cache.forget_tokens();
        assert!(cache.get("long", Duration::ZERO).is_none());
    }

    #[test]
    fn after_a_reload_keys_are_fetched_again_and_stand_in_only_for_the_same_server() {
        let mut cache = trusted("a").after_reload();
        assert_eq!(cache.get("a", MINUTE), None);
        let elsewhere = KeyRequest {
            url: "https://other.example/a".to_owned(),
            ..published("a")
        };
        assert!(!cache.extend(&elsewhere, MINUTE));
        assert!(cache.extend(&published("a"), MINUTE));
        assert!(cache.get("a", MINUTE).is_some());
    }
}

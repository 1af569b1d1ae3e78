//! What belongs to one source alone: its keys and its places for calls, so that one source's strangers never keep another
//! from its keys.
//!
//! Calls that strangers cause and calls for requests that are proven, or for keys that have proven some, never wait for
//! each other.

use std::sync::Arc;
use std::time::Duration;

use hapax_verify::{KeyKind, KeyRequest};
use parking_lot::Mutex;

use super::cache::Cache;
use super::lane::Lane;

/// How many keys that strangers name are fetched at once.
const STRANGERS_CALLS_MAX: usize = 4;
/// How many such keys may be waited for.
const STRANGERS_FLIGHTS_MAX: usize = 16;
/// How many new ids strangers may name in one go: more than any sender has keys in use.
const STRANGERS_BURST: u32 = 32;
/// How often they may name another after that. A sender's server turns away clients that ask too often.
const STRANGERS_INTERVAL: Duration = Duration::from_secs(2);
/// How many other calls are made at once.
const TRUSTED_CALLS_MAX: usize = 8;
/// How many of those may be waited for.
const TRUSTED_FLIGHTS_MAX: usize = 64;

pub(super) struct SourceKeys {
    pub(super) cache: Mutex<Cache>,
    pub(super) strangers: Arc<Lane>,
    pub(super) trusted: Arc<Lane>,
    pace: Mutex<Pace>,
}

impl SourceKeys {
    fn with(cache: Cache) -> Self {
        Self {
            cache: Mutex::new(cache),
            strangers: Arc::new(Lane::new(STRANGERS_CALLS_MAX, STRANGERS_FLIGHTS_MAX)),
            trusted: Arc::new(Lane::new(TRUSTED_CALLS_MAX, TRUSTED_FLIGHTS_MAX)),
            pace: Mutex::default(),
        }
    }

    /// For another configuration. Calls that are in progress end in what was before, and change nothing here.
    pub(super) fn after_reload(&self) -> Self {
        Self::with(self.cache.lock().after_reload())
    }

    /// Where a key is asked for.
    pub(super) fn lane(&self, request: &KeyRequest) -> &Arc<Lane> {
        let may_be_made_up =
            request.kind == KeyKind::Published && !self.cache.lock().is_trusted(&request.key_id);
        if may_be_made_up {
            &self.strangers
        } else {
            &self.trusted
        }
    }

    /// Whether one more call may be made in this lane now.
    pub(super) fn admits(&self, lane: &Arc<Lane>, now: Duration) -> bool {
        !Arc::ptr_eq(lane, &self.strangers) || self.pace.lock().admits(now)
    }
}

impl Default for SourceKeys {
    fn default() -> Self {
        Self::with(Cache::default())
    }
}

/// When everything that was admitted will be paid for, at one per interval.
#[derive(Default)]
struct Pace(Duration);

impl Pace {
    fn admits(&mut self, now: Duration) -> bool {
        let paid_at = self.0.max(now) + STRANGERS_INTERVAL;
        let is_admitted = paid_at <= now + STRANGERS_INTERVAL * STRANGERS_BURST;
        if is_admitted {
            self.0 = paid_at;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_have_a_burst_and_then_one_call_per_interval() {
        let mut pace = Pace::default();
        let admitted = |pace: &mut Pace, now| (0..100).filter(|_| pace.admits(now)).count();
        assert_eq!(admitted(&mut pace, Duration::ZERO), 32);
        assert_eq!(admitted(&mut pace, Duration::from_secs(1)), 0);
        assert_eq!(admitted(&mut pace, Duration::from_secs(2)), 1);
        assert_eq!(admitted(&mut pace, Duration::from_secs(3600)), 32);
    }
}

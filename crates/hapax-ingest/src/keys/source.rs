//! The state of one source: its keys and its permits for calls, so that unverified clients of one source never keep
//! another from its keys.
//!
//! Calls caused by unverified clients never delay calls for verified requests or for keys that have verified one, nor
//! the other way round.

use std::sync::Arc;
use std::time::Duration;

use hapax_verify::{KeyKind, KeyRequest};
use parking_lot::Mutex;

use super::cache::Cache;
use super::lane::Lane;

/// The most concurrent fetches of keys that unverified clients name.
const STRANGERS_CALLS_MAX: usize = 4;
/// The most such keys in progress or waiting.
const STRANGERS_FETCHES_MAX: usize = 16;
/// The most new ids that unverified clients may name in a burst: more than any provider has keys in use.
const STRANGERS_BURST: u32 = 32;
/// The interval for each further one. A provider's server rejects clients that ask too often.
const STRANGERS_INTERVAL: Duration = Duration::from_secs(2);
/// The most concurrent calls of the other kind.
const TRUSTED_CALLS_MAX: usize = 8;
/// The most of those in progress or waiting.
const TRUSTED_FETCHES_MAX: usize = 64;

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
            strangers: Arc::new(Lane::new(STRANGERS_CALLS_MAX, STRANGERS_FETCHES_MAX)),
            trusted: Arc::new(Lane::new(TRUSTED_CALLS_MAX, TRUSTED_FETCHES_MAX)),
            pace: Mutex::default(),
        }
    }

    /// The state for a new configuration. Calls in progress complete in the old state and change nothing here.
    pub(super) fn after_reload(&self) -> Self {
        Self::with(self.cache.lock().after_reload())
    }

    /// The lane in which a key is requested.
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

/// When all admitted calls are paid off, at one per interval.
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

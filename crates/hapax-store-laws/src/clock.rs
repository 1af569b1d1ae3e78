//! A clock that stands still until a test moves it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hapax_core::{Clock, Timestamp};

/// 2026-01-01T00:00:00Z, where every manual clock starts.
pub const START: Timestamp = Timestamp::from_seconds(1_767_225_600);

/// Time that only a test moves. The wall and monotonic clocks move together, unless the wall clock is set.
#[derive(Debug)]
pub struct ManualClock {
    wall_micros: AtomicI64,
    elapsed_micros: AtomicI64,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            wall_micros: AtomicI64::new(START.as_micros()),
            elapsed_micros: AtomicI64::new(0),
        }
    }
}

impl ManualClock {
    /// A clock at [`START`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `duration` pass.
    pub fn advance(&self, duration: Duration) {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        self.wall_micros.fetch_add(micros, Ordering::SeqCst);
        self.elapsed_micros.fetch_add(micros, Ordering::SeqCst);
    }

    /// Sets the wall clock, forwards or back; the monotonic clock is unaffected.
    pub fn set(&self, now: Timestamp) {
        self.wall_micros.store(now.as_micros(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.wall_micros.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.elapsed_micros.load(Ordering::SeqCst)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_only_by_hand() {
        let clock = ManualClock::new();
        assert_eq!(clock.now(), START);
        clock.advance(Duration::from_secs(5));
        assert_eq!(clock.now(), START.plus(Duration::from_secs(5)));
        clock.set(START);
        assert_eq!(clock.now(), START);
        assert_eq!(clock.elapsed(), Duration::from_secs(5));
    }
}

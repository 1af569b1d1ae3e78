//! A clock that moves only when the test moves it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax_core::{Clock, SystemClock, Timestamp};

/// Both clocks of a service, moved together.
pub(crate) struct DayClock {
    began: Timestamp,
    passed_us: AtomicU64,
}

impl DayClock {
    /// Starts this long before now, so that the day ends in the present and the pages show it.
    pub(crate) fn that_ends_now(length: Duration) -> Self {
        Self {
            began: SystemClock::default().now().minus(length),
            passed_us: AtomicU64::new(0),
        }
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.passed_us.fetch_add(by.as_micros() as u64, Ordering::SeqCst);
    }

    /// The time this long after the beginning.
    pub(crate) fn at(&self, after: Duration) -> Timestamp {
        self.began.plus(after)
    }
}

impl Clock for DayClock {
    fn now(&self) -> Timestamp {
        self.at(self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.passed_us.load(Ordering::SeqCst))
    }
}

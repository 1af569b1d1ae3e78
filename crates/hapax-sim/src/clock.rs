//! Clocks in virtual time: each process and the store has its own, and any of them can be wrong.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hapax_core::{Clock, Timestamp};
use hapax_store_laws::clock::START;

use crate::executor::Executor;

/// A wall clock that is skewed, over a monotonic clock that is right.
pub struct SkewedClock {
    executor: Executor,
    skew_millis: AtomicI64,
}

impl SkewedClock {
    pub const fn new(executor: Executor, skew_millis: i64) -> Self {
        Self {
            executor,
            skew_millis: AtomicI64::new(skew_millis),
        }
    }

    /// Steps it forwards or back.
    pub fn step(&self, millis: i64) {
        self.skew_millis.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        let right = START.plus(self.executor.now()).as_micros();
        Timestamp::from_micros(right + self.skew_millis.load(Ordering::Relaxed) * 1_000)
    }

    fn elapsed(&self) -> Duration {
        self.executor.now()
    }
}

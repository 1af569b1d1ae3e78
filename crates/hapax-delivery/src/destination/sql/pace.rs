//! How many events share a transaction: as many as fit into a short one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The most events in one transaction.
pub(super) const TOGETHER_MAX: usize = 64;
/// The target duration of a transaction: its locks are held that long.
const TRANSACTION: Duration = Duration::from_millis(25);

/// The smoothed time per event at this destination, in microseconds.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU64);

impl Pace {
    /// Records that this many events together took this long.
    pub(super) fn took(&self, duration: Duration, events: usize) {
        let each = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX) / events.max(1) as u64;
        let pace = self.0.load(Ordering::Relaxed);
        // Of two updates at the same moment one may be lost: it is an estimate.
        self.0.store(pace - pace / 4 + each / 4, Ordering::Relaxed);
    }

    /// How many events to take into the next transaction.
    pub(super) fn together(&self) -> usize {
        let pace = u128::from(self.0.load(Ordering::Relaxed).max(1));
        usize::try_from(TRANSACTION.as_micros() / pace)
            .unwrap_or(TOGETHER_MAX)
            .clamp(1, TOGETHER_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_statements_run_alone_and_quick_ones_together() {
        let pace = Pace::default();
        assert_eq!(pace.together(), TOGETHER_MAX);
        for _ in 0..40 {
            pace.took(Duration::from_millis(100), 1);
        }
        assert_eq!(pace.together(), 1);
        for _ in 0..60 {
            pace.took(Duration::from_millis(10), 50);
        }
        assert_eq!(pace.together(), TOGETHER_MAX);
    }
}

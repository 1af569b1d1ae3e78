//! How many events share a transaction: as many as it takes to keep it short.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Events in one transaction at most.
pub(super) const TOGETHER_MAX: usize = 64;
/// How long a transaction should take: its locks are held that long.
const TRANSACTION: Duration = Duration::from_millis(25);

/// How long an event takes here, smoothed, in microseconds.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU64);

impl Pace {
    /// This many events took this long together.
    pub(super) fn took(&self, duration: Duration, events: usize) {
        let each = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX) / events.max(1) as u64;
        let pace = self.0.load(Ordering::Relaxed);
        // Of two that end together one may be lost here: it is an estimate.
        self.0.store(pace - pace / 4 + each / 4, Ordering::Relaxed);
    }

    /// How many events to take for the next transaction.
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

//! The most recent exemplar of a histogram bucket: an event that an operator can examine.
//!
//! The hot path never waits for a lock, and takes at most one lock per second and bucket.

use std::sync::atomic::{AtomicU64, Ordering};

use hapax_core::{EventId, Timestamp};
use parking_lot::Mutex;

/// How long an exemplar is kept before it can be replaced.
const STANDS_MS: u64 = 1_000;

/// An event that fell into a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exemplar {
    pub(super) event: EventId,
    pub(super) value: f64,
    pub(super) at: Timestamp,
}

/// Holds one exemplar.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The time of the current exemplar, readable without the lock.
    kept_at_ms: AtomicU64,
    kept: Mutex<Option<Exemplar>>,
}

impl Slot {
    /// Keeps the exemplar, unless the current one is recent or the slot is locked.
    pub(super) fn offer(&self, exemplar: Exemplar) {
        let now_ms = exemplar.at.as_millis();
        // The absolute difference ensures that a clock that was set back does not keep an old exemplar for hours.
        if now_ms.abs_diff(self.kept_at_ms.load(Ordering::Relaxed)) < STANDS_MS {
            return;
        }
        if let Some(mut kept) = self.kept.try_lock() {
            *kept = Some(exemplar);
            self.kept_at_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    pub(super) fn newest(&self) -> Option<Exemplar> {
        *self.kept.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exemplar(seconds: i64) -> Exemplar {
        Exemplar {
            event: EventId::from_bytes([1; 16]),
            value: 0.5,
            at: Timestamp::from_seconds(seconds),
        }
    }

    #[test]
    fn the_newest_stands_for_a_second_and_a_clock_set_back_changes_nothing_about_that() {
        let slot = Slot::default();
        assert_eq!(slot.newest(), None);
        slot.offer(exemplar(100));
        let mut soon = exemplar(100);
        soon.at = Timestamp::from_micros(100_999_000);
        slot.offer(soon);
        assert_eq!(slot.newest(), Some(exemplar(100)));
        slot.offer(exemplar(101));
        assert_eq!(slot.newest(), Some(exemplar(101)));
        slot.offer(exemplar(7));
        assert_eq!(slot.newest(), Some(exemplar(7)));
    }

    #[test]
    fn whoever_finds_the_slot_taken_goes_on_without_waiting() {
        let slot = Slot::default();
        let taken = slot.kept.lock();
        slot.offer(exemplar(100));
        drop(taken);
        assert_eq!(slot.newest(), None);
    }
}

//! The share of copies among what arrived in the last ten minutes, in eleven slots of a minute.

use std::sync::atomic::{AtomicU64, Ordering};

/// The window, in minutes.
const WINDOW_MINUTES: u64 = 10;
/// One slot more than the window: the minute that is filling up now.
const SLOTS: usize = WINDOW_MINUTES as usize + 1;

/// What arrived lately. A rare lost count at the turn of a minute is accepted: this is a gauge for people.
#[derive(Debug, Default)]
pub(super) struct Window {
    slots: [Slot; SLOTS],
}

#[derive(Debug, Default)]
struct Slot {
    /// The minute this slot counts, plus one; 0 is none.
    minute: AtomicU64,
    arrived: AtomicU64,
    copies: AtomicU64,
}

impl Window {
    pub(super) fn count(&self, elapsed_seconds: u64, is_copy: IsCopy) {
        let minute = elapsed_seconds / 60;
        let slot = &self.slots[(minute % SLOTS as u64) as usize];
        let found = slot.minute.load(Ordering::Relaxed);
        if found != minute + 1 {
            let turned =
                slot.minute
                    .compare_exchange(found, minute + 1, Ordering::Relaxed, Ordering::Relaxed);
            if turned.is_ok() {
                slot.arrived.store(0, Ordering::Relaxed);
                slot.copies.store(0, Ordering::Relaxed);
            }
        }
        slot.arrived.fetch_add(1, Ordering::Relaxed);
        match is_copy {
            IsCopy::Yes => {
                slot.copies.fetch_add(1, Ordering::Relaxed);
            }
            IsCopy::No => {}
        }
    }

    /// Between 0 and 1; 0 while nothing arrives.
    pub(super) fn ratio(&self, elapsed_seconds: u64) -> f64 {
        let minute = elapsed_seconds / 60;
        let oldest = (minute + 1).saturating_sub(WINDOW_MINUTES);
        let (mut arrived, mut copies) = (0, 0);
        for slot in &self.slots {
            let counted = slot.minute.load(Ordering::Relaxed);
            if counted >= oldest.max(1) && counted <= minute + 1 {
                arrived += slot.arrived.load(Ordering::Relaxed);
                copies += slot.copies.load(Ordering::Relaxed);
            }
        }
        if arrived == 0 {
            0.0
        } else {
            copies as f64 / arrived as f64
        }
    }
}

/// Whether what arrived was here before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IsCopy {
    /// It was.
    Yes,
    /// It is new.
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_covers_ten_minutes_and_then_forgets() {
        let window = Window::default();
        assert!(window.ratio(0).abs() < f64::EPSILON);
        window.count(5, IsCopy::No);
        window.count(10, IsCopy::Yes);
        window.count(10, IsCopy::Yes);
        window.count(10, IsCopy::Yes);
        assert!((window.ratio(30) - 0.75).abs() < f64::EPSILON);
        assert!((window.ratio(599) - 0.75).abs() < f64::EPSILON);
        window.count(640, IsCopy::No);
        assert!((window.ratio(640) - 0.6).abs() < f64::EPSILON);
        assert!(window.ratio(60 * 11 + 59) < f64::EPSILON);
        // The slot of minute 0 is used again by minute 11.
        window.count(60 * 11, IsCopy::Yes);
        assert!((window.ratio(60 * 11) - 0.5).abs() < f64::EPSILON);
        assert!((window.ratio(60 * 40)).abs() < f64::EPSILON);
    }
}

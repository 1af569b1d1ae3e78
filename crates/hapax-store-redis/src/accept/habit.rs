//! Whether recent events were mostly new, or mostly duplicates.

use std::sync::atomic::{AtomicU32, Ordering};

/// A share of 100 %.
const WHOLE: u32 = 1 << 16;
/// From this share of duplicates on, checking first is cheaper than sending every payload.
const MANY: u32 = WHOLE / 3;
/// The weight of the previous value, against 1 for the latest call.
const REST: u32 = 7;

/// The share of duplicates in recent calls. Only a guess about what is faster: the store decides what is a duplicate.
#[derive(Debug, Default)]
pub(crate) struct Habit(AtomicU32);

impl Habit {
    /// Whether the next events are likely to be duplicates.
    pub(super) fn expects_duplicates(&self) -> bool {
        self.0.load(Ordering::Relaxed) > MANY
    }

    pub(super) fn learn(&self, duplicates: usize, events: usize) {
        let share = (duplicates as u64 * u64::from(WHOLE) / (events as u64).max(1)) as u32;
        let before = self.0.load(Ordering::Relaxed);
        let after = (before * REST + share) / (REST + 1);
        self.0.store(after, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_what_comes() {
        let habit = Habit::default();
        assert!(!habit.expects_duplicates());
        for _ in 0..20 {
            habit.learn(50, 50);
        }
        assert!(habit.expects_duplicates());
        for _ in 0..20 {
            habit.learn(0, 50);
        }
        assert!(!habit.expects_duplicates());
    }
}

//! What events have been of late: mostly new, or mostly copies.

use std::sync::atomic::{AtomicU32, Ordering};

/// The whole of a share.
const WHOLE: u32 = 1 << 16;
/// From this share of copies on, looking first is cheaper than sending every payload.
const MANY: u32 = WHOLE / 3;
/// How much of what was known before one call leaves.
const REST: u32 = 7;

/// The share of copies, as calls of late had it. Only a guess about what is faster: what is a copy, the store says.
#[derive(Debug, Default)]
pub(crate) struct Habit(AtomicU32);

impl Habit {
    /// Whether the next events are likely to be copies.
    pub(super) fn is_copies(&self) -> bool {
        self.0.load(Ordering::Relaxed) > MANY
    }

    pub(super) fn learn(&self, copies: usize, events: usize) {
        let share = (copies as u64 * u64::from(WHOLE) / (events as u64).max(1)) as u32;
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
        assert!(!habit.is_copies());
        for _ in 0..20 {
            habit.learn(50, 50);
        }
        assert!(habit.is_copies());
        for _ in 0..20 {
            habit.learn(0, 50);
        }
        assert!(!habit.is_copies());
    }
}

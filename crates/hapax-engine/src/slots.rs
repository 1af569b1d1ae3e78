//! Slots: how many attempts of a destination run at once, and the leased deliveries that wait for one to end.
//!
//! A destination that answers in milliseconds would sit idle while the store leases the next batch. Therefore more
//! deliveries than can run are leased ahead; they wait here, in order, and start when a slot is free.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Deliveries leased ahead per slot.
const AHEAD_FOR_EACH: u32 = 3;
/// The most deliveries leased ahead: after a crash each of them is a suspect, and suspects run one at a time.
const AHEAD_MAX: u32 = 96;
/// Attempts that take longer than this keep their slots busy without leasing ahead.
const QUICK: Duration = Duration::from_millis(20);

/// The slots of one destination.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    state: Mutex<State<T>>,
    /// Smoothed duration of attempts, in microseconds; `u64::MAX` before the first.
    pace_us: AtomicU64,
}

#[derive(Debug)]
struct State<T> {
    running: u32,
    waiting: VecDeque<T>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        let state = State {
            running: 0,
            waiting: VecDeque::new(),
        };
        Self {
            state: Mutex::new(state),
            pace_us: AtomicU64::new(u64::MAX),
        }
    }

    /// Queues one. Returns the one that gets a slot now, if any.
    pub(crate) fn enter(&self, newcomer: T, slots: u32) -> Option<T> {
        self.queue(slots, |waiting| waiting.push_back(newcomer))
    }

    /// Queues one before all others. Returns it if it gets a slot now.
    pub(crate) fn enter_first(&self, newcomer: T, slots: u32) -> Option<T> {
        self.queue(slots, |waiting| waiting.push_front(newcomer))
    }

    fn queue(&self, slots: u32, push: impl FnOnce(&mut VecDeque<T>)) -> Option<T> {
        let mut state = self.state.lock();
        push(&mut state.waiting);
        if state.running >= slots {
            return None;
        }
        state.running += 1;
        state.waiting.pop_front()
    }

    /// An attempt has ended. Returns the one that takes its slot; if there is none, the slot is free.
    pub(crate) fn next(&self, slots: u32) -> Option<T> {
        let mut state = self.state.lock();
        let next = if state.running > slots {
            None
        } else {
            state.waiting.pop_front()
        };
        if next.is_none() {
            state.running -= 1;
        }
        next
    }

    pub(crate) fn running(&self) -> u32 {
        self.state.lock().running
    }

    /// Records how long an attempt took.
    pub(crate) fn took(&self, duration: Duration) {
        let took = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX - 1);
        let smoothed = match self.pace_us.load(Ordering::Relaxed) {
            u64::MAX => took,
            pace => pace - pace / 8 + took / 8,
        };
        // When two attempts end together, one update may be lost: this is an estimate.
        self.pace_us.store(smoothed, Ordering::Relaxed);
    }

    /// How many to lease beyond those that can run.
    pub(crate) fn ahead(&self, slots: u32) -> u32 {
        if u128::from(self.pace_us.load(Ordering::Relaxed)) > QUICK.as_micros() {
            return 0;
        }
        slots.saturating_mul(AHEAD_FOR_EACH).min(AHEAD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_slots_run_and_the_rest_follow_in_order() {
        let slots = Slots::new();
        assert_eq!(
            [1, 2, 3, 4].map(|number| slots.enter(number, 2)),
            [Some(1), Some(2), None, None]
        );
        assert_eq!((slots.next(2), slots.running()), (Some(3), 2));
        assert_eq!((slots.next(2), slots.running()), (Some(4), 2));
        assert_eq!((slots.next(2), slots.running()), (None, 1));
    }

    #[test]
    fn one_that_enters_first_takes_the_next_slot() {
        let slots = Slots::new();
        assert_eq!(slots.enter_first(1, 1), Some(1));
        assert_eq!(slots.enter(2, 1), None);
        assert_eq!(slots.enter_first(3, 1), None);
        assert_eq!((slots.next(1), slots.next(1)), (Some(3), Some(2)));
    }

    #[test]
    fn fewer_slots_count_as_soon_as_attempts_end_and_nobody_is_left_waiting() {
        let slots = Slots::new();
        for number in 0..5 {
            slots.enter(number, 3);
        }
        assert_eq!((slots.next(1), slots.next(1)), (None, None));
        assert_eq!(
            (slots.next(1), slots.next(1), slots.next(1)),
            (Some(3), Some(4), None)
        );
        assert_eq!(slots.running(), 0);
    }

    #[test]
    fn only_quick_destinations_have_work_leased_ahead() {
        let slots = Slots::<()>::new();
        assert_eq!(slots.ahead(8), 0, "not before the pace is known");
        slots.took(Duration::from_millis(2));
        assert_eq!((slots.ahead(8), slots.ahead(1_000)), (24, 96));
        for _ in 0..50 {
            slots.took(Duration::from_secs(1));
        }
        assert_eq!(slots.ahead(8), 0);
    }
}

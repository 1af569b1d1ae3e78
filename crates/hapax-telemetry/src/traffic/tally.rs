//! The counts of one source or destination in the minutes that are not gathered yet.

use std::collections::VecDeque;
use std::mem::take;
use std::sync::Arc;

use hapax_core::store::{TimeRange, Traffic};
use hapax_core::{Clock, Timestamp};
use parking_lot::Mutex;

/// The most minutes waiting to be gathered. Older ones are dropped, because only the last hour is shown by the minute.
const MINUTES_MAX: usize = 60;

/// Counts by the minute.
pub struct Tally {
    clock: Arc<dyn Clock>,
    minutes: Mutex<Minutes>,
}

#[derive(Debug, Default)]
struct Minutes {
    /// The minute that `open` belongs to.
    now: Timestamp,
    open: Traffic,
    over: VecDeque<(Timestamp, Traffic)>,
}

impl Tally {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            minutes: Mutex::default(),
        }
    }

    /// Counts an occurrence at the current time.
    pub fn count(&self, counted: impl FnOnce(&mut Traffic)) {
        self.count_at(self.clock.now(), counted);
    }

    /// The same for a caller that has just read the clock.
    pub(crate) fn count_at(&self, at: Timestamp, counted: impl FnOnce(&mut Traffic)) {
        let minute = TimeRange::Hour.slot_of(at);
        let mut minutes = self.minutes.lock();
        if minutes.now != minute {
            minutes.turn(minute);
        }
        counted(&mut minutes.open);
    }

    /// Removes and returns all counts, by minute.
    pub(super) fn take(&self) -> Vec<(Timestamp, Traffic)> {
        let mut minutes = self.minutes.lock();
        let now = minutes.now;
        minutes.turn(now);
        take(&mut minutes.over).into()
    }
}

impl Minutes {
    fn turn(&mut self, to: Timestamp) {
        let open = take(&mut self.open);
        if open != Traffic::default() {
            if self.over.len() == MINUTES_MAX {
                self.over.pop_front();
            }
            self.over.push_back((self.now, open));
        }
        self.now = to;
    }
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tally").finish_non_exhaustive()
    }
}

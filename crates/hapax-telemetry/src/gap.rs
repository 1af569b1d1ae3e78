//! The longest delay of a duplicate in the last day, measured from the first arrival. Beyond the ledger's window, a
//! duplicate would be accepted as a new event, so this shows how much margin is left.

use std::time::Duration;

use parking_lot::Mutex;

/// The period of each maximum.
const HOUR_SECONDS: u64 = 3_600;
/// A day, plus the current hour.
const HOURS: usize = 25;

/// The largest delay per hour.
#[derive(Debug, Default)]
pub(super) struct LargestGap(Mutex<[(u64, Duration); HOURS]>);

impl LargestGap {
    /// Records a duplicate that arrived at this monotonic time, this long after the first arrival.
    pub(super) fn observe(&self, now: Duration, gap: Duration) {
        let hour = now.as_secs() / HOUR_SECONDS;
        let mut hours = self.0.lock();
        let (of, largest) = &mut hours[(hour % HOURS as u64) as usize];
        if *of != hour {
            (*of, *largest) = (hour, Duration::ZERO);
        }
        *largest = gap.max(*largest);
    }

    /// The largest delay of the last day; zero if there was no duplicate.
    pub(super) fn of_a_day(&self, now: Duration) -> Duration {
        let hour = now.as_secs() / HOUR_SECONDS;
        let hours = self.0.lock();
        let recent = hours.iter().filter(|(of, _)| of + HOURS as u64 > hour);
        recent.map(|(_, largest)| *largest).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn hours(hours: u64) -> Duration {
        Duration::from_secs(hours * HOUR_SECONDS)
    }

    #[test]
    fn the_largest_gap_stands_for_a_day_and_is_then_forgotten() {
        let gaps = LargestGap::default();
        assert_eq!(gaps.of_a_day(hours(0)), Duration::ZERO);
        gaps.observe(hours(1), hours(71));
        gaps.observe(hours(1), hours(2));
        gaps.observe(hours(20), hours(3));
        assert_eq!(gaps.of_a_day(hours(25)), hours(71));
        assert_eq!(gaps.of_a_day(hours(26)), hours(3));
        // The first hour's entry is reused.
        gaps.observe(hours(26), hours(1));
        assert_eq!(gaps.of_a_day(hours(26)), hours(3));
        assert_eq!(gaps.of_a_day(hours(45)), hours(1));
        assert_eq!(gaps.of_a_day(hours(90)), Duration::ZERO);
    }
}

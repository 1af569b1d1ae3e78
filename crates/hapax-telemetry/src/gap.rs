//! The latest copy of the last day: how long after the first it came. Beyond the ledger's window a copy would be taken
//! for a new event, so this says how much room is left.

use std::time::Duration;

use parking_lot::Mutex;

/// How long one maximum is gathered.
const HOUR_SECONDS: u64 = 3_600;
/// A day, and the hour that fills up now.
const HOURS: usize = 25;

/// The largest gaps by the hour.
#[derive(Debug, Default)]
pub(super) struct LargestGap(Mutex<[(u64, Duration); HOURS]>);

impl LargestGap {
    /// A copy came at this moment of the monotonic clock, this long after the first.
    pub(super) fn observe(&self, now: Duration, gap: Duration) {
        let hour = now.as_secs() / HOUR_SECONDS;
        let mut hours = self.0.lock();
        let (of, largest) = &mut hours[(hour % HOURS as u64) as usize];
        if *of != hour {
            (*of, *largest) = (hour, Duration::ZERO);
        }
        *largest = gap.max(*largest);
    }

    /// The largest of the last day; nothing if no copy came.
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
        // The place of the first hour is taken again.
        gaps.observe(hours(26), hours(1));
        assert_eq!(gaps.of_a_day(hours(26)), hours(3));
        assert_eq!(gaps.of_a_day(hours(45)), hours(1));
        assert_eq!(gaps.of_a_day(hours(90)), Duration::ZERO);
    }
}

//! The last ten minutes of one source or destination in this process: counts in slots of ten seconds, and durations in
//! HDR histograms by the minute.
//!
//! It has one small mutex, held for an addition. Nothing is allocated once a histogram has recorded its longest
//! duration.
//!
//! The stored `Durations` would be off by up to a tenth, and alerts compare these percentiles with their limits.

use std::time::Duration;

use hdrhistogram::Histogram;
use parking_lot::Mutex;

/// The length of a window.
pub const WINDOW: Duration = Duration::from_secs(600);
/// The length of a slot of counts.
const SLOT_SECONDS: u64 = 10;
const SLOTS: usize = 60;
/// The period of one histogram.
const MINUTE_SECONDS: u64 = 60;
const MINUTES: usize = 10;
/// The precision of durations: percentiles are accurate to within 1%.
const SIGNIFICANT_DIGITS: u8 = 2;

/// An occurrence to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happened {
    /// A new event arrived.
    Accepted,
    /// A duplicate arrived.
    Duplicate,
    /// A conflicting body arrived under a known id.
    Conflicted,
    /// A request failed verification and was refused.
    Unproven,
    Completed,
    /// An attempt failed and will be retried.
    Failed,
    /// The last attempt failed.
    Died,
}

const KINDS: usize = 7;

/// Counts and durations of the last ten minutes.
#[derive(Debug, Default)]
pub(super) struct Window(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    /// One more than the window has: the current slot, which is still filling.
    slots: Ring<[u64; KINDS], { SLOTS + 1 }>,
    minutes: Ring<Times, { MINUTES + 1 }>,
}

/// A histogram of microseconds.
#[derive(Debug)]
struct Times(Option<Histogram<u32>>);

/// A snapshot of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// New events.
    pub accepted: u64,
    pub duplicates: u64,
    /// Conflicting bodies under a known id.
    pub conflicts: u64,
    /// Requests that failed verification and were refused.
    pub unproven: u64,
    /// Attempts that succeeded.
    pub completed: u64,
    /// Attempts that failed and are retried.
    pub failed: u64,
    /// Deliveries whose last attempt failed.
    pub dead: u64,
    /// The share of duplicates among new events, duplicates and conflicts, from 0 to 1; `None` if nothing arrived.
    pub dedupe_ratio: Option<f64>,
    /// The 95th percentile of the ratios of the last sixty complete ten-second slots. A slot in which nothing arrived
    /// counts as 0, so that a single duplicate in a quiet night does not look like a storm.
    pub dedupe_ratio_p95: f64,
    /// The latency of responses or of attempts.
    pub took: Percentiles,
}

/// Percentiles of durations; `None` if nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Percentiles {
    pub count: u64,
    pub p50: Option<Duration>,
    pub p95: Option<Duration>,
    pub p99: Option<Duration>,
}

impl Window {
    /// Counts an occurrence at this monotonic time.
    pub(super) fn count(&self, at: Duration, happened: Happened) {
        self.with(|recent| {
            if let Some(counts) = recent.slots.at(at.as_secs() / SLOT_SECONDS) {
                counts[happened as usize] += 1;
            }
        });
    }

    /// Records the duration of an operation that ended at this monotonic time.
    pub(super) fn took(&self, at: Duration, took: Duration) {
        self.with(|recent| {
            if let Some(times) = recent.minutes.at(at.as_secs() / MINUTE_SECONDS) {
                times.record(took);
            }
        });
    }

    /// A snapshot as of this monotonic time.
    pub(super) fn figures(&self, now: Duration) -> Figures {
        self.with(|recent| recent.figures(now))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Recent) -> T) -> T {
        act(&mut self.0.lock())
    }
}

impl Recent {
    fn figures(&self, now: Duration) -> Figures {
        let slot = now.as_secs() / SLOT_SECONDS;
        // The current slot and the 59 before it: ten minutes at most.
        let mut sums = [0; KINDS];
        for counts in self.slots.since((slot + 1).saturating_sub(SLOTS as u64), slot) {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let of = |happened: Happened| sums[happened as usize];
        Figures {
            accepted: of(Happened::Accepted),
            duplicates: of(Happened::Duplicate),
            conflicts: of(Happened::Conflicted),
            unproven: of(Happened::Unproven),
            completed: of(Happened::Completed),
            failed: of(Happened::Failed),
            dead: of(Happened::Died),
            dedupe_ratio: ratio(&sums),
            dedupe_ratio_p95: self.ratio_p95(slot),
            took: self.percentiles(now.as_secs() / MINUTE_SECONDS),
        }
    }

    /// The percentile over the sixty slots before the current one.
    fn ratio_p95(&self, slot: u64) -> f64 {
        let Some(last) = slot.checked_sub(1) else {
            return 0.0;
        };
        let whole = self.slots.since(slot.saturating_sub(SLOTS as u64), last);
        let mut ratios: Vec<f64> = whole.filter_map(ratio).collect();
        ratios.resize(SLOTS, 0.0);
        ratios.sort_by(f64::total_cmp);
        ratios[(SLOTS * 95).div_ceil(100) - 1]
    }

    fn percentiles(&self, minute: u64) -> Percentiles {
        let mut all = Times::default();
        for times in self
            .minutes
            .since((minute + 1).saturating_sub(MINUTES as u64), minute)
        {
            all.add(times);
        }
        let Some(all) = all.0.filter(|all| !all.is_empty()) else {
            return Percentiles::default();
        };
        let of = |share| Some(Duration::from_micros(all.value_at_quantile(share)));
        Percentiles {
            count: all.len(),
            p50: of(0.5),
            p95: of(0.95),
            p99: of(0.99),
        }
    }
}

fn ratio(counts: &[u64; KINDS]) -> Option<f64> {
    let of = |happened: Happened| counts[happened as usize];
    let duplicates = of(Happened::Duplicate);
    let genuine = of(Happened::Accepted) + duplicates + of(Happened::Conflicted);
    (genuine > 0).then(|| duplicates as f64 / genuine as f64)
}

/// The most recent slots of a numbered sequence.
#[derive(Debug)]
struct Ring<T, const SIZE: usize>([(u64, Option<T>); SIZE]);

impl<T: Default + Reset, const SIZE: usize> Ring<T, SIZE> {
    /// The slot with this number, empty if it is new; `None` if it is so old that a newer slot has replaced it.
    fn at(&mut self, number: u64) -> Option<&mut T> {
        let (found, slot) = &mut self.0[(number % SIZE as u64) as usize];
        if *found > number {
            return None;
        }
        let slot = slot.get_or_insert_default();
        if *found < number {
            *found = number;
            slot.reset();
        }
        Some(slot)
    }

    /// The slots with data, from the first number to the last, inclusive.
    fn since(&self, first: u64, last: u64) -> impl Iterator<Item = &T> {
        let is_in = move |number: u64| number >= first && number <= last;
        self.0
            .iter()
            .filter(move |(number, _)| is_in(*number))
            .filter_map(|(_, slot)| slot.as_ref())
    }
}

impl<T, const SIZE: usize> Default for Ring<T, SIZE> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| (0, None)))
    }
}

/// Clears a value without freeing its memory.
trait Reset {
    fn reset(&mut self);
}

impl Reset for [u64; KINDS] {
    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Times {
    // The histogram resizes automatically, so every value can be recorded.
    fn record(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let _ = self.0.as_mut().map(|histogram| histogram.record(micros));
    }

    fn add(&mut self, other: &Self) {
        if let (Some(all), Some(other)) = (&mut self.0, &other.0) {
            let _ = all.add(other);
        }
    }
}

impl Reset for Times {
    fn reset(&mut self) {
        self.0.iter_mut().for_each(Histogram::reset);
    }
}

impl Default for Times {
    fn default() -> Self {
        // This fails only for an invalid number of digits.
        Self(Histogram::new(SIGNIFICANT_DIGITS).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_ratio_covers_ten_minutes_and_then_forgets() {
        let window = Window::default();
        assert_eq!(window.figures(at(0)).dedupe_ratio, None);
        window.count(at(5), Happened::Accepted);
        for _ in 0..3 {
            window.count(at(10), Happened::Duplicate);
        }
        assert_eq!(window.figures(at(30)).dedupe_ratio, Some(0.75));
        assert_eq!(window.figures(at(599)).dedupe_ratio, Some(0.75));
        assert_eq!(window.figures(at(600)).dedupe_ratio, Some(1.0));
        assert_eq!(window.figures(at(610)).dedupe_ratio, None);
        // The first slot's entry is reused.
        window.count(at(611), Happened::Accepted);
        assert_eq!(window.figures(at(611)).dedupe_ratio, Some(0.0));
        assert_eq!(window.figures(at(611)).accepted, 1);
    }

    #[test]
    fn four_bad_slots_of_sixty_are_the_95th_percentile_and_three_are_not() {
        let window = Window::default();
        for slot in 0..3 {
            window.count(at(1_000 + slot * 10), Happened::Duplicate);
        }
        assert!(window.figures(at(1_100)).dedupe_ratio_p95.abs() < f64::EPSILON);
        window.count(at(1_030), Happened::Duplicate);
        // The current slot does not count yet.
        assert!(window.figures(at(1_035)).dedupe_ratio_p95.abs() < f64::EPSILON);
        assert!((window.figures(at(1_040)).dedupe_ratio_p95 - 1.0).abs() < f64::EPSILON);
        assert!((window.figures(at(1_609)).dedupe_ratio_p95 - 1.0).abs() < f64::EPSILON);
        assert!(window.figures(at(1_610)).dedupe_ratio_p95.abs() < f64::EPSILON);
    }

    #[test]
    fn times_are_right_to_within_a_hundredth_and_are_forgotten() {
        let window = Window::default();
        assert_eq!(window.figures(at(0)).took, Percentiles::default());
        for millis in 1..=1_000 {
            window.took(at(60), Duration::from_millis(millis));
        }
        let took = window.figures(at(600)).took;
        for (found, millis) in [(took.p50, 500.0), (took.p95, 950.0), (took.p99, 990.0)] {
            let found = found.unwrap().as_secs_f64() * 1_000.0;
            assert!((found / millis - 1.0).abs() < 0.01, "{found} for {millis}");
        }
        assert_eq!(took.count, 1_000);
        assert_eq!(window.figures(at(660)).took, Percentiles::default());
    }

    #[test]
    fn what_is_absurdly_long_is_still_counted() {
        let window = Window::default();
        window.took(at(1), Duration::MAX);
        window.took(at(1), Duration::ZERO);
        assert_eq!(window.figures(at(1)).took.count, 2);
    }
}

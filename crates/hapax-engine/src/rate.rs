//! Rates: a token bucket that says how long to wait. Limits apply per process, as the docs state.

use std::time::Duration;

use parking_lot::Mutex;

/// A number of requests or attempts per period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub per: Duration,
}

impl Rate {
    fn interval(self) -> Duration {
        self.per / self.count.max(1)
    }
}

/// A bucket that holds one second's worth (at least one) and refills steadily.
#[derive(Debug)]
pub(crate) struct Bucket {
    interval: Duration,
    burst: Duration,
    /// The time, on the monotonic clock, up to which the rate is used up.
    spent_until: Mutex<Duration>,
}

impl Bucket {
    pub(crate) fn new(rate: Rate) -> Self {
        let interval = rate.interval();
        Self {
            interval,
            burst: Duration::from_secs(1).max(interval),
            spent_until: Mutex::new(Duration::ZERO),
        }
    }

    /// Takes up to `wanted`. Returns how many it took, or how long until the next if it took none.
    pub(crate) fn take(&self, wanted: u32, now: Duration) -> Result<u32, Duration> {
        self.take_beyond(0, wanted, now)
    }

    /// As [`Self::take`], but leaves `kept` in the bucket.
    pub(crate) fn take_beyond(&self, kept: u32, wanted: u32, now: Duration) -> Result<u32, Duration> {
        // The clock starts near zero; shifting it keeps `earliest` from being clipped at the start.
        let now = now + self.burst;
        let mut spent_until = self.spent_until.lock();
        let earliest = now.saturating_sub(self.burst);
        let start = (*spent_until).max(earliest);
        let room = now.saturating_sub(start);
        let there = room.as_nanos() / self.interval.as_nanos().max(1);
        let granted = there.saturating_sub(u128::from(kept)).min(u128::from(wanted)) as u32;
        if granted == 0 {
            return Err((start + self.interval * kept.saturating_add(1)).saturating_sub(now));
        }
        *spent_until = start + self.interval * granted;
        Ok(granted)
    }

    /// Returns unused tokens.
    pub(crate) fn give_back(&self, count: u32) {
        let mut spent_until = self.spent_until.lock();
        *spent_until = spent_until.saturating_sub(self.interval * count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_grants_a_burst_and_then_its_rate() {
        let bucket = Bucket::new(Rate {
            count: 10,
            per: Duration::from_secs(1),
        });
        let at = |millis| Duration::from_millis(millis);
        assert_eq!(bucket.take(100, at(0)), Ok(10));
        assert_eq!(bucket.take(1, at(0)), Err(at(100)));
        assert_eq!(bucket.take(5, at(250)), Ok(2));
        bucket.give_back(1);
        assert_eq!(bucket.take(5, at(250)), Ok(1));
    }

    #[test]
    fn what_is_kept_stays_in_the_bucket() {
        let bucket = Bucket::new(Rate {
            count: 10,
            per: Duration::from_secs(1),
        });
        let at = |millis| Duration::from_millis(millis);
        assert_eq!(bucket.take_beyond(8, 5, at(0)), Ok(2));
        assert_eq!(bucket.take_beyond(8, 1, at(0)), Err(at(100)));
        assert_eq!(bucket.take(10, at(0)), Ok(8));
    }

    #[test]
    fn an_idle_bucket_does_not_save_up_more_than_its_burst() {
        let bucket = Bucket::new(Rate {
            count: 10,
            per: Duration::from_secs(1),
        });
        assert_eq!(bucket.take(100, Duration::from_secs(3600)), Ok(10));
    }

    #[test]
    fn slow_rates_grant_one_at_a_time() {
        let bucket = Bucket::new(Rate {
            count: 1,
            per: Duration::from_secs(60),
        });
        assert_eq!(bucket.take(5, Duration::ZERO), Ok(1));
        assert_eq!(
            bucket.take(5, Duration::from_secs(1)),
            Err(Duration::from_secs(59))
        );
        assert_eq!(bucket.take(5, Duration::from_secs(60)), Ok(1));
    }
}

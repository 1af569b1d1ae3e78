//! When to retry: exponential backoff with full jitter and a cap.

use std::time::Duration;

use crate::Random;

/// The backoff settings of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest delay before the second attempt.
    pub first: Duration,
    /// The upper limit for every delay.
    pub cap: Duration,
}

impl Backoff {
    /// The longest delay after attempt number `attempt` (counted from 1): doubles each time, up to the cap.
    pub fn ceiling(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.cap)
    }

    /// A random delay between zero and the ceiling, so that a thousand deliveries that failed together are not retried
    /// together.
    pub fn delay(&self, attempt: u32, random: &dyn Random) -> Duration {
        let ceiling_ms = u64::try_from(self.ceiling(attempt).as_millis()).unwrap_or(u64::MAX - 1);
        Duration::from_millis(random.up_to(ceiling_ms))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            cap: Duration::from_secs(3600),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u64);
    impl Random for Fixed {
        fn next_u64(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn the_ceiling_doubles_up_to_the_cap() {
        let backoff = Backoff {
            first: Duration::from_secs(1),
            cap: Duration::from_secs(5),
        };
        let ceilings: Vec<u64> = (1..=5)
            .map(|attempt| backoff.ceiling(attempt).as_secs())
            .collect();
        assert_eq!(ceilings, [1, 2, 4, 5, 5]);
        assert_eq!(backoff.ceiling(u32::MAX), backoff.cap);
    }

    #[test]
    fn jitter_reaches_from_zero_to_the_ceiling() {
        let backoff = Backoff::default();
        assert_eq!(backoff.delay(3, &Fixed(0)), Duration::ZERO);
        assert_eq!(backoff.delay(3, &Fixed(u64::MAX)), Duration::from_secs(4));
    }
}

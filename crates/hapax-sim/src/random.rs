//! Randomness from a seed: the same seed, the same numbers, on every machine and for every version of any crate.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax_core::Random;

/// The step of the sequence; odd, so that it visits every number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of numbers decided by its seed (SplitMix64).
#[derive(Debug)]
pub struct Dice(AtomicU64);

impl Dice {
    pub const fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// A separate sequence, decided by this one: draws from it do not shift the draws from this one.
    #[must_use]
    pub fn split(&self) -> Self {
        Self::new(self.next_u64())
    }

    /// A number in `low..=high`.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        low + self.up_to(high.saturating_sub(low))
    }

    /// A duration in `low..=high`, to the microsecond.
    pub fn time(&self, low: Duration, high: Duration) -> Duration {
        Duration::from_micros(self.between(low.as_micros() as u64, high.as_micros() as u64))
    }

    /// True with a probability of `percent` in a hundred.
    pub fn chance(&self, percent: u64) -> bool {
        self.up_to(99) < percent
    }

    /// An index below `count`, which is at least one.
    pub fn index(&self, count: usize) -> usize {
        self.up_to(count.saturating_sub(1) as u64) as usize
    }
}

impl Random for Dice {
    fn next_u64(&self) -> u64 {
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_every_number_and_another_seed_decides_others() {
        let draw = |seed| {
            let dice = Dice::new(seed);
            [dice.next_u64(), dice.next_u64(), dice.split().next_u64()]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_both() {
        let dice = Dice::new(1);
        let drawn: Vec<u64> = (0..200).map(|_| dice.between(3, 5)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&5)));
    }
}

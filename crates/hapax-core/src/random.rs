//! Randomness, injected so that the simulator can repeat a run from its seed.

use aws_lc_rs::rand::{SecureRandom, SystemRandom as Source};

/// A source of random bits.
pub trait Random: Send + Sync + 'static {
    /// Returns 64 random bits.
    fn next_u64(&self) -> u64;

    /// A uniformly distributed number in `0..=bound`.
    fn up_to(&self, bound: u64) -> u64 {
        // 128-bit multiplication maps the 64 random bits onto the range; the bias is below 2^-32
        // for every bound used here (backoff delays in milliseconds).
        ((u128::from(self.next_u64()) * (u128::from(bound) + 1)) >> 64) as u64
    }
}

/// The operating system's random number generator.
#[derive(Debug, Default)]
pub struct SystemRandom(Source);

impl SystemRandom {
    /// Creates a generator.
    pub fn new() -> Self {
        Self(Source::new())
    }

    /// Fills `bytes` with random bytes that are suitable for secrets.
    ///
    /// # Errors
    /// When the operating system provides no randomness.
    pub fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        self.0.fill(bytes).map_err(|_| NoRandomness)
    }
}

/// The operating system provided no randomness.
#[derive(Debug, thiserror::Error)]
#[error("the operating system provided no random bytes")]
pub struct NoRandomness;

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        // `fill` fails only if the system has no randomness at all. Ids still differ, because of their counter.
        if self.fill(&mut bytes).is_err() {
            return 0;
        }
        u64::from_ne_bytes(bytes)
    }
}

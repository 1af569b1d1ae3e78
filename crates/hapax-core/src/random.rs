//! Randomness, handed in so that the simulator can repeat a run from its seed.

use aws_lc_rs::rand::{SecureRandom, SystemRandom as Source};

/// Where random bits come from.
pub trait Random: Send + Sync + 'static {
    /// Sixty-four fresh random bits.
    fn next_u64(&self) -> u64;

    /// A number in `0..=bound`, evenly spread.
    fn up_to(&self, bound: u64) -> u64 {
        // 128-bit multiplication maps the 64 random bits onto the range; the bias is below 2^-32
        // for every bound used here (backoff delays in milliseconds).
        ((u128::from(self.next_u64()) * (u128::from(bound) + 1)) >> 64) as u64
    }
}

/// The operating system's randomness.
#[derive(Debug, Default)]
pub struct SystemRandom(Source);

impl SystemRandom {
    /// A fresh source.
    pub fn new() -> Self {
        Self(Source::new())
    }

    /// Fills `bytes` with randomness fit for secrets.
    ///
    /// # Errors
    /// When the operating system has none to give.
    pub fn fill(&self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        self.0.fill(bytes).map_err(|_| NoRandomness)
    }
}

/// The operating system gave no randomness.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes")]
pub struct NoRandomness;

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        // `fill` fails only where the system has no randomness at all; ids must still differ,
        // which their counter sees to.
        if self.fill(&mut bytes).is_err() {
            return 0;
        }
        u64::from_ne_bytes(bytes)
    }
}

//! Randomness, injected so that the simulator can repeat a run from its seed.

use std::cell::RefCell;

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

    /// A few random bytes that need not stay secret, such as a nonce: a thread draws many at a time, since that costs
    /// no more than one.
    ///
    /// # Errors
    /// When the operating system provides no randomness.
    pub fn draw_ahead<const N: usize>(&self) -> Result<[u8; N], NoRandomness> {
        const { assert!(N <= AHEAD_BYTES) };
        AHEAD.with_borrow_mut(|ahead| {
            if AHEAD_BYTES - ahead.used < N {
                self.fill(&mut ahead.bytes)?;
                ahead.used = 0;
            }
            let mut drawn = [0; N];
            drawn.swap_with_slice(&mut ahead.bytes[ahead.used..][..N]);
            ahead.used += N;
            Ok(drawn)
        })
    }
}

/// The operating system provided no randomness.
#[derive(Debug, thiserror::Error)]
#[error("the operating system provided no random bytes")]
pub struct NoRandomness;

impl Random for SystemRandom {
    fn next_u64(&self) -> u64 {
        // Fails only if the system has no randomness at all. Ids still differ, because of their counter.
        self.draw_ahead().map_or(0, u64::from_ne_bytes)
    }
}

thread_local! {
    static AHEAD: RefCell<Ahead> = const {
        RefCell::new(Ahead {
            bytes: [0; AHEAD_BYTES],
            used: AHEAD_BYTES,
        })
    };
}

const AHEAD_BYTES: usize = 256;

/// Bytes that a thread has drawn ahead.
struct Ahead {
    bytes: [u8; AHEAD_BYTES],
    /// How many of them were used. They are zero.
    used: usize,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nothing_is_drawn_twice_on_any_thread() {
        let draw = || {
            let random = SystemRandom::new();
            (0..10_000)
                .map(|_| (random.next_u64(), random.draw_ahead::<12>().unwrap()))
                .collect::<Vec<(u64, [u8; 12])>>()
        };
        let drawn: Vec<(u64, [u8; 12])> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap())
                .collect()
        });
        let numbers: HashSet<u64> = drawn.iter().map(|(number, _)| *number).collect();
        let nonces: HashSet<[u8; 12]> = drawn.iter().map(|(_, nonce)| *nonce).collect();
        assert_eq!((numbers.len(), nonces.len()), (drawn.len(), drawn.len()));
    }
}

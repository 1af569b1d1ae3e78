//! Fingerprints of bodies, by which a process recognises a body that it has seen before.
//!
//! A fingerprint takes a fraction of the time of a SHA-256. It depends on a random key of the process, so it is compared
//! in memory only, and never stored or shown.

use std::fmt;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::SystemRandom;
use crate::random::NoRandomness;

/// The fingerprint of a body under the key of one [`Fingerprinter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The sixteen bytes, which look random.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Makes fingerprints under a random key of its own.
///
/// A fingerprint is the GMAC of a body (NIST SP 800-38D). Two different bodies of `n` bytes have the same one under at
/// most `n / 16 + 1` of 2^128 keys. No one can choose two such bodies on purpose: neither the key nor a fingerprint
/// leaves the process.
pub struct Fingerprinter(LessSafeKey);

impl Fingerprinter {
    /// Draws a key.
    ///
    /// # Errors
    /// When the operating system provides no randomness.
    pub fn new(random: &SystemRandom) -> Result<Self, NoRandomness> {
        let mut key = [0; 16];
        random.fill(&mut key)?;
        let key = UnboundKey::new(&AES_128_GCM, &key).map_err(|_| NoRandomness)?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// The fingerprint of a body; `None` only if it is longer than GMAC allows.
    pub fn of(&self, body: &[u8]) -> Option<Fingerprint> {
        // One nonce for all: nothing is encrypted, and tags are compared only with each other.
        let nonce = Nonce::assume_unique_for_key([0; NONCE_LEN]);
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(body), &mut [])
            .ok()?;
        tag.as_ref().try_into().ok().map(Fingerprint)
    }
}

impl fmt::Debug for Fingerprinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is omitted on purpose.
        f.debug_struct("Fingerprinter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn fingerprinter() -> Fingerprinter {
        Fingerprinter::new(&SystemRandom::new()).unwrap()
    }

    #[test]
    fn a_body_has_one_fingerprint_and_another_under_another_key() {
        let (one, other) = (fingerprinter(), fingerprinter());
        let body = b"{\"id\":\"evt_1\"}";
        assert!(one.of(body).is_some());
        assert_eq!(one.of(body), one.of(body));
        assert_ne!(one.of(body), other.of(body));
    }

    #[test]
    fn every_byte_and_the_length_count() {
        let fingerprinter = fingerprinter();
        let mut all = HashSet::new();
        for length in 0..200 {
            let mut body = vec![0; length];
            assert!(all.insert(fingerprinter.of(&body)), "zeros, {length}");
            for at in 0..length {
                body[at] = 1;
                assert!(all.insert(fingerprinter.of(&body)), "byte {at} of {length}");
                body[at] = 0;
            }
        }
    }
}

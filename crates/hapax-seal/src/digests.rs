//! Keyed digests of values that are hashed in plain elsewhere: hashes of bodies, values of indexes.
//!
//! Each digest is the plain hash under a keyed permutation (a Feistel network of HMAC-SHA-256, tweaked by where the
//! digest belongs). With the key it can be reversed, so that a migration to another store, and every comparison above,
//! works with the plain hash. Without the key, someone who has the store cannot test whether a guessed body is in it.
//! The key is drawn once per store and never changes, whichever keys wrap it: the digest of a body is the same on every
//! replica and after every rotation.

use crate::mac::Mac;

/// What a digest is of. Digests of two kinds have nothing in common.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A body, for one event.
    Body = 1,
    /// The content that stays the same on a retry, for one event.
    Content = 2,
    /// A body, within a scope.
    SameBody = 3,
    /// A body, for one name.
    Bound = 4,
    /// A value, for one pointer.
    Indexed = 5,
}

pub(crate) struct Digests(Mac);

impl Digests {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        Self(Mac::new(key))
    }

    /// The digest of a hash, at the place given by `tweak`.
    pub(crate) fn seal<const N: usize>(&self, kind: Kind, tweak: &[u8], mut hash: [u8; N]) -> [u8; N] {
        for round in 0..rounds::<N>() {
            self.mix(kind, tweak, round, &mut hash);
        }
        hash
    }

    /// The hash behind a digest.
    pub(crate) fn open<const N: usize>(&self, kind: Kind, tweak: &[u8], mut digest: [u8; N]) -> [u8; N] {
        for round in (0..rounds::<N>()).rev() {
            self.mix(kind, tweak, round, &mut digest);
        }
        digest
    }

    /// One round changes one half by a function of the other, and is its own inverse.
    fn mix<const N: usize>(&self, kind: Kind, tweak: &[u8], round: u8, bytes: &mut [u8; N]) {
        let (left, right) = bytes.split_at_mut(N / 2);
        let (changed, read) = if round.is_multiple_of(2) {
            (left, right)
        } else {
            (right, left)
        };
        let masks = self.0.sign(&[&[kind as u8, round, N as u8], read, tweak]);
        for (byte, mask) in changed.iter_mut().zip(masks) {
            *byte ^= mask;
        }
    }
}

impl std::fmt::Debug for Digests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Digests")
    }
}

/// Four rounds make a strong permutation of wide blocks. Narrow blocks, whose halves soon collide, get more.
const fn rounds<const N: usize>() -> u8 {
    if N >= 32 { 4 } else { 8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_turned_back_by_its_key_at_its_place_alone() {
        let (one, other) = (Digests::new(&[1; 32]), Digests::new(&[2; 32]));
        let hash: [u8; 32] = std::array::from_fn(|at| at as u8);
        let digest = one.seal(Kind::Body, b"evt", hash);
        assert_ne!(digest, hash);
        assert_eq!(one.seal(Kind::Body, b"evt", hash), digest, "equal stays equal");
        assert_eq!(one.open(Kind::Body, b"evt", digest), hash);
        assert_ne!(one.open(Kind::Content, b"evt", digest), hash);
        assert_ne!(one.open(Kind::Body, b"another", digest), hash);
        assert_ne!(other.open(Kind::Body, b"evt", digest), hash);
        let short = one.seal(Kind::Indexed, b"/id", *b"12345678");
        assert_eq!(one.open(Kind::Indexed, b"/id", short), *b"12345678");
        let half = one.seal(Kind::Bound, b"name", [7; 16]);
        assert_eq!(one.open(Kind::Bound, b"name", half), [7; 16]);
    }

    /// Stores keep digests for as long as their entries: the same key must always give the same ones.
    #[test]
    fn the_digests_of_a_store_never_change() {
        let digests = Digests::new(&[1; 32]);
        let hash: [u8; 32] = std::array::from_fn(|at| at as u8);
        let digest = digests.seal(Kind::Body, b"0123456789abcdef", hash);
        assert_eq!(
            hex::encode(digest),
            "03a0782b03795d99466fbe8c2fde8b8be74836dae18161e708e1d914f41fe70e"
        );
        let long = digests.seal(Kind::Indexed, &[b'/'; 80], *b"12345678");
        assert_eq!(hex::encode(long), "305889d44cb48d67");
    }
}

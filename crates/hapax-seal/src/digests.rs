//! Keyed digests of values that are hashed in plain elsewhere: hashes of bodies, values of indexes.
//!
//! Each digest is the plain hash under a keyed permutation, tweaked by where the digest belongs. With the key it can be
//! reversed, so that a migration to another store, and every comparison above, works with the plain hash. Without the
//! key, someone who has the store cannot test whether a guessed body is in it. The key is drawn once per store and
//! never changes, whichever keys wrap it: the digest of a body is the same on every replica and after every rotation.

use aes::Aes256;
use aes::cipher::KeyInit as _;
use xts_mode::Xts128;

use crate::mac::Mac;

/// What a digest of a hash is of. Digests of two kinds have nothing in common.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A body, for one event.
    Body,
    /// The content that stays the same on a retry, for one event.
    Content,
    /// A body, within a scope.
    SameBody,
    /// A body, for one name.
    Bound,
}

pub(crate) struct Digests {
    /// AES-256-XTS under a key for each kind.
    kinds: [Xts128<Aes256>; 4],
    /// Shortens a tweak to a block.
    tweaks: Mac,
    indexed: Mac,
}

impl Digests {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let root = Mac::new(key);
        let cipher = |kind: u8, half: u8| Aes256::new(&root.sign(&[b"xts", &[kind, half]]).into());
        let kind = |kind: Kind| Xts128::new(cipher(kind as u8, 1), cipher(kind as u8, 2));
        Self {
            kinds: [Kind::Body, Kind::Content, Kind::SameBody, Kind::Bound].map(kind),
            tweaks: Mac::new(&root.sign(&[b"tweak"])),
            indexed: Mac::new(&root.sign(&[b"indexed"])),
        }
    }

    /// The digest of a hash of at least 16 bytes, at the place given by `tweak`.
    pub(crate) fn seal<const N: usize>(&self, kind: Kind, tweak: &[u8], mut hash: [u8; N]) -> [u8; N] {
        self.kinds[kind as usize].encrypt_sector(&mut hash, self.block(tweak).into());
        hash
    }

    /// The hash behind a digest.
    pub(crate) fn open<const N: usize>(&self, kind: Kind, tweak: &[u8], mut digest: [u8; N]) -> [u8; N] {
        self.kinds[kind as usize].decrypt_sector(&mut digest, self.block(tweak).into());
        digest
    }

    /// An event's id is a block as it is.
    fn block(&self, tweak: &[u8]) -> [u8; 16] {
        tweak.try_into().unwrap_or_else(|_| {
            let mac = self.tweaks.sign(&[tweak]);
            std::array::from_fn(|at| mac[at])
        })
    }

    /// The digest of an index's value, which is too short for the cipher.
    pub(crate) fn seal_indexed(&self, pointer: &str, mut value: [u8; 8]) -> [u8; 8] {
        for round in 0..INDEXED_ROUNDS {
            self.mix(pointer, round, &mut value);
        }
        value
    }

    /// The value behind the digest of an index.
    pub(crate) fn open_indexed(&self, pointer: &str, mut digest: [u8; 8]) -> [u8; 8] {
        for round in (0..INDEXED_ROUNDS).rev() {
            self.mix(pointer, round, &mut digest);
        }
        digest
    }

    /// A round of a Feistel network: changes one half by a function of the other, and is its own inverse.
    fn mix(&self, pointer: &str, round: u8, bytes: &mut [u8; 8]) {
        let (left, right) = bytes.split_at_mut(4);
        let (changed, read) = if round.is_multiple_of(2) {
            (left, right)
        } else {
            (right, left)
        };
        let masks = self.indexed.sign(&[&[round], read, pointer.as_bytes()]);
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

/// Four make a strong permutation of wide blocks. Halves of four bytes soon collide, so these get more.
const INDEXED_ROUNDS: u8 = 8;

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
        let half = one.seal(Kind::Bound, b"name", [7; 16]);
        assert_eq!(one.open(Kind::Bound, b"name", half), [7; 16]);
        let value = one.seal_indexed("/id", *b"12345678");
        assert_eq!(one.open_indexed("/id", value), *b"12345678");
        assert_ne!(one.open_indexed("/other", value), *b"12345678");
        assert_ne!(other.open_indexed("/id", value), *b"12345678");
    }

    /// Stores keep digests for as long as their entries: the same key must always give the same ones.
    #[test]
    fn the_digests_of_a_store_never_change() {
        let digests = Digests::new(&[1; 32]);
        let hash: [u8; 32] = std::array::from_fn(|at| at as u8);
        let body = digests.seal(Kind::Body, b"0123456789abcdef", hash);
        assert_eq!(
            hex::encode(body),
            "079ce2b1a63c726ed74dd1fd56854db0299dbed7a9230dd65e2c613ea1494a7a"
        );
        let content = digests.seal(Kind::Content, b"0123456789abcdef", hash);
        assert_eq!(
            hex::encode(content),
            "21b684fab307c334ff0d6dde8710ea29e62560783e37e68468162d2a49d4a9de"
        );
        let same_body = digests.seal(Kind::SameBody, b"stripe", hash);
        assert_eq!(
            hex::encode(same_body),
            "3fff5e2c91e775dba58d29387ac9440bcb46c2169c55188cfbf38c7a10096925"
        );
        let bound = digests.seal(Kind::Bound, b"a name that is longer", [7; 16]);
        assert_eq!(hex::encode(bound), "bc917ac103c45cc99c172d395ae0c409");
        let indexed = digests.seal_indexed(&"/".repeat(80), *b"12345678");
        assert_eq!(hex::encode(indexed), "1e9d27f193c080a8");
    }
}

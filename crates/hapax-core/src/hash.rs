//! Hashes of request bodies, which distinguish a duplicate from a conflicting body under the same id.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256, digest};

/// SHA-256 of the raw bytes that arrived; for a batch, of the item.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BodyHash([u8; 32]);

impl BodyHash {
    /// Hashes `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha256(bytes))
    }

    /// Restores a stored hash.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of the hash.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for BodyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for BodyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A hash of the parts of a body that stay the same when a provider sends an event again, for presets that list fields
/// that change. Two content hashes are comparable only if their rules are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentHash {
    /// Names the excluded fields, and thereby the rule.
    pub rule: String,
    /// The hash of the remaining fields.
    pub hash: BodyHash,
}

/// SHA-256 in one call.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    to_array(digest(&SHA256, bytes).as_ref())
}

/// SHA-256 over parts, each preceded by its length, so that different lists of parts never have the same input.
pub(crate) fn sha256_of_parts(domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(domain.as_bytes());
    for part in parts {
        context.update(&(part.len() as u32).to_be_bytes());
        context.update(part);
    }
    to_array(context.finish().as_ref())
}

fn to_array(bytes: &[u8]) -> [u8; 32] {
    let mut array = [0; 32];
    array.copy_from_slice(bytes);
    array
}

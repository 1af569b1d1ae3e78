//! Hashes of what arrived: how "the same event again" is told from "another body under its id".

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256, digest};

/// SHA-256 of the raw bytes that arrived (of the item, in a batch).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BodyHash([u8; 32]);

impl BodyHash {
    /// Hashes `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha256(bytes))
    }

    /// A hash that was stored earlier.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
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

/// A hash over what stays the same when a sender repeats an event, where its preset says that
/// some fields do not. Two of them compare only under the same rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentHash {
    /// Names the fields left out, and so the rule.
    pub rule: String,
    /// The hash over the rest.
    pub hash: BodyHash,
}

/// SHA-256 in one call.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    to_array(digest(&SHA256, bytes).as_ref())
}

/// SHA-256 over parts, each preceded by its length, so that no two lists of parts collide.
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

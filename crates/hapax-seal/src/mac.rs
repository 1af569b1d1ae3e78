//! HMAC-SHA-256 under a key that is used again and again.
//!
//! Both blocks of the key are hashed once, and a copy of that state is a few words on the stack: a short message then
//! costs two blocks of SHA-256 and nothing else.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

pub(crate) struct Mac(Hmac<Sha256>);

impl Mac {
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let mut block = [0; 64];
        block[..key.len()].copy_from_slice(key);
        Self(Hmac::new(&block.into()))
    }

    /// The MAC of these parts, one after another.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

//! What stores need to know about encrypted contents: their plaintext length, and how a query reads them. No store
//! knows a key: `hapax-seal` encrypts before the store is called.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{BodyTerm, IndexedValue};
use crate::EventId;

/// Prefix of a sealed value: three letters and the version of the format that follows. Packed headers never start with
/// it: such a header would have a name of 104 bytes and a value of two gigabytes.
pub const SEALED_MARK: [u8; 5] = *b"\0hxs\x01";

/// How much longer a sealed value is than its plaintext: the mark, the key id, the nonce and the tag.
pub const SEALED_EXTRA_BYTES: u64 = 5 + 4 + 12 + 16;

/// The name under which the keyring of an encrypted store is kept among the alerts. It is not an alert and does not
/// count towards their limit.
pub const KEYRING_NAME: &str = "%encryption";

/// Whether a value is sealed. For an event, check its headers: headers and body are either both sealed or both plain.
pub fn is_sealed(value: &[u8]) -> bool {
    value.starts_with(&SEALED_MARK)
}

/// The plaintext length of a body, given the beginning of its event's headers.
pub fn plain_body_bytes(headers: &[u8], stored_bytes: u64) -> u64 {
    if is_sealed(headers) {
        stored_bytes.saturating_sub(SEALED_EXTRA_BYTES)
    } else {
        stored_bytes
    }
}

/// Reads the stored form of bodies in an encrypted store.
pub trait ReadStored: Send + Sync {
    /// The body of an event; `None` if it cannot be decrypted.
    fn body<'b>(&self, event: EventId, stored: &'b [u8]) -> Option<Cow<'b, [u8]>>;

    /// The index entry for a value.
    fn indexed(&self, term: &BodyTerm) -> IndexedValue;
}

/// How a query reads stored bodies: as they are, unless a reader that knows the keys is set. It is not part of the
/// query's conditions: two queries that differ only in it are equal.
#[derive(Clone, Default)]
pub struct StoredBodies(Option<Arc<dyn ReadStored>>);

impl StoredBodies {
    /// Reads bodies with `reader`.
    pub fn read_by(reader: Arc<dyn ReadStored>) -> Self {
        Self(Some(reader))
    }

    pub(super) fn body<'b>(&self, event: EventId, stored: &'b [u8]) -> Option<Cow<'b, [u8]>> {
        match &self.0 {
            Some(reader) => reader.body(event, stored),
            None => Some(Cow::Borrowed(stored)),
        }
    }

    pub(super) fn indexed(&self, term: &BodyTerm) -> IndexedValue {
        match &self.0 {
            Some(reader) => reader.indexed(term),
            None => IndexedValue::of_term(term),
        }
    }
}

impl PartialEq for StoredBodies {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for StoredBodies {}

impl fmt::Debug for StoredBodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "sealed" } else { "plain" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_as_long_as_it_was_before_it_was_sealed() {
        let sealed = [&SEALED_MARK[..], &[0; 32]].concat();
        assert_eq!(plain_body_bytes(&sealed, SEALED_EXTRA_BYTES + 7), 7);
        assert_eq!(plain_body_bytes(b"", 7), 7);
        let plain = crate::Headers::pack([("hxs", &b"hxs"[..])]);
        assert!(!is_sealed(plain.as_bytes()));
    }
}

//! What stores need to know of contents that are encrypted before they get here: how long they are in plain, and how
//! a query reads them. No store knows a key: `hapax-seal` stands before it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{BodyTerm, IndexedValue};
use crate::EventId;

/// What a sealed value begins with: three letters and the version of what follows. Packed headers never begin like this,
/// since such a header would have a name of 104 bytes and a value of two gigabytes.
pub const SEALED_MARK: [u8; 5] = *b"\0hxs\x01";

/// By how much a sealed value is longer than what is in it: the mark, the id of its key, the nonce and the tag.
pub const SEALED_EXTRA_BYTES: u64 = 5 + 4 + 12 + 16;

/// The name under which the keyring of an encrypted store is kept among the alerts. It is no alert, and takes no place
/// from one.
pub const KEYRING_NAME: &str = "%encryption";

/// Whether a value is sealed. Of an event, ask its headers: both are, or neither.
pub fn is_sealed(value: &[u8]) -> bool {
    value.starts_with(&SEALED_MARK)
}

/// How long a body is in plain, of an event whose headers begin like this.
pub fn plain_body_bytes(headers: &[u8], stored_bytes: u64) -> u64 {
    if is_sealed(headers) {
        stored_bytes.saturating_sub(SEALED_EXTRA_BYTES)
    } else {
        stored_bytes
    }
}

/// Reads what an encrypted store keeps of bodies.
pub trait ReadStored: Send + Sync {
    /// The body of an event; none if it cannot be opened.
    fn body<'b>(&self, event: EventId, stored: &'b [u8]) -> Option<Cow<'b, [u8]>>;

    /// What the index keeps of a value.
    fn indexed(&self, term: &BodyTerm) -> IndexedValue;
}

/// How a query reads stored bodies: as they are, unless someone who knows the keys says otherwise. It is no part of
/// what is asked for: two queries that differ in it alone are equal.
#[derive(Clone, Default)]
pub struct StoredBodies(Option<Arc<dyn ReadStored>>);

impl StoredBodies {
    /// Read by this.
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

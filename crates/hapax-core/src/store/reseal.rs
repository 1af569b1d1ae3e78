//! Re-encryption: rows are rewritten in another stored form without changing their meaning.

use super::{AttemptView, BodyNote, ConflictingBody, IndexedValue, LedgerEntry};
use crate::{EventId, Key, StoredEvent};

/// A row in another stored form. Nothing else about it changes, and only if it still matches `before`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resealed {
    /// The hashes of a ledger entry.
    Entry {
        /// The key of the entry.
        key: Key,
        /// Matched by its event and the hash of the body.
        before: LedgerEntry,
        /// The new hashes.
        after: LedgerEntry,
    },
    /// The contents of an event: headers, body and body hash.
    Event {
        /// Matched by its headers.
        before: StoredEvent,
        /// The new headers, body and hash.
        after: StoredEvent,
    },
    /// An indexed value of an event.
    Indexed {
        /// The event that the value belongs to.
        event: EventId,
        /// The current value.
        before: IndexedValue,
        /// The new value.
        after: IndexedValue,
    },
    /// A destination's response: the excerpt and the message of an attempt.
    Attempt {
        /// The event that the attempt delivered.
        event: EventId,
        /// Matched by its excerpt and message.
        before: AttemptView,
        /// The new excerpt and message.
        after: AttemptView,
    },
    /// A conflicting body: its headers, its body and the body's hash.
    Conflict {
        /// Matched by its hash and headers.
        before: ConflictingBody,
        /// The new headers, body and hash.
        after: ConflictingBody,
    },
    /// A remembered body: its scope and hash.
    Body {
        /// Matched by its event.
        before: BodyNote,
        /// The new scope and hash. If a note with these exists already, only the old one is deleted.
        after: BodyNote,
    },
}

impl Resealed {
    /// The number of payload bytes to write.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Event { after, .. } => after.headers.as_bytes().len() + after.body.len(),
            Self::Conflict { after, .. } => after.headers.as_bytes().len() + after.body.len(),
            Self::Entry { .. } | Self::Indexed { .. } | Self::Attempt { .. } | Self::Body { .. } => 0,
        }
    }
}

//! Re-encryption: rows get another stored form, and mean what they meant.

use super::{AttemptView, BodyNote, ConflictingBody, IndexedValue, LedgerEntry};
use crate::{EventId, Key, StoredEvent};

/// A row in another stored form. Nothing else of it changes, and only if it is still as `before` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resealed {
    /// The hashes of a ledger entry.
    Entry {
        /// Its key.
        key: Key,
        /// By its event and the hash of the body.
        before: LedgerEntry,
        /// Its hashes.
        after: LedgerEntry,
    },
    /// What an event brought: its headers, its body and the hash of it.
    Event {
        /// By its headers.
        before: StoredEvent,
        /// Headers, body and hash.
        after: StoredEvent,
    },
    /// An indexed value of an event.
    Indexed {
        /// Of this event.
        event: EventId,
        /// As it is.
        before: IndexedValue,
        /// As it is to be.
        after: IndexedValue,
    },
    /// What a destination said: the excerpt and the message of an attempt.
    Attempt {
        /// Of this event.
        event: EventId,
        /// By its texts.
        before: AttemptView,
        /// Its texts.
        after: AttemptView,
    },
    /// Another body under a known identity: its headers, its body and the hash of it.
    Conflict {
        /// By its hash and its headers.
        before: ConflictingBody,
        /// Headers, body and hash.
        after: ConflictingBody,
    },
    /// A remembered body: its name.
    Body {
        /// By its event.
        before: BodyNote,
        /// Its name. Where that is known already, only the old one goes.
        after: BodyNote,
    },
}

impl Resealed {
    /// Bytes of payload to write.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Event { after, .. } => after.headers.as_bytes().len() + after.body.len(),
            Self::Conflict { after, .. } => after.headers.as_bytes().len() + after.body.len(),
            Self::Entry { .. } | Self::Indexed { .. } | Self::Attempt { .. } | Self::Body { .. } => 0,
        }
    }
}

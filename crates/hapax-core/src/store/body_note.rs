//! Bodies that are remembered beside the ledger, for providers that do not sign everything.

use crate::{BodyHash, EventId, NewEvent, Scope, Timestamp};

/// A remembered body of a provider that does not sign the event id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyNote {
    /// The scope in which ids are unique.
    pub scope: Scope,
    /// SHA-256 of the raw bytes.
    pub raw_hash: BodyHash,
    /// The event that carried the body.
    pub id: EventId,
    /// When the note may be forgotten.
    pub until: Timestamp,
}

impl BodyNote {
    /// Suffix of the scope of notes that bind names to bodies. No source can have such a scope.
    pub const BINDINGS: &str = " bindings";
    /// Suffix of the scope of notes whose hashes are keyed digests.
    pub const SEALED: &str = " sealed";

    /// The note for an event's body.
    pub fn of(event: &NewEvent) -> Self {
        Self {
            scope: event.identity.scope.clone(),
            raw_hash: event.raw_hash,
            id: event.id,
            until: event.ledger_until,
        }
    }

    /// The note to store for the body that an event claims.
    pub fn claimed_by(event: &NewEvent) -> Option<Self> {
        let (scope, raw_hash) = event.claimed_body.clone()?;
        Some(Self {
            scope,
            raw_hash,
            id: event.id,
            until: event.ledger_until,
        })
    }
}

/// A name that a provider signs, bound to the first body that arrived with it, for providers that do not sign the body
/// itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The scope in which the name is unique.
    pub scope: Scope,
    /// The signed name.
    pub name: String,
    /// SHA-256 of the body's raw bytes.
    pub raw_hash: BodyHash,
    /// When the binding may be forgotten.
    pub until: Timestamp,
}

impl Binding {
    /// The binding in stored form, as a remembered body: in a scope that no source can have, with the hash of the name
    /// instead of a body's hash, and half the hash of the body instead of an event id.
    pub fn note(&self) -> BodyNote {
        let mut half = [0; 16];
        half.copy_from_slice(&self.raw_hash.as_bytes()[..16]);
        BodyNote {
            scope: Scope::from(format!("{}{}", self.scope, BodyNote::BINDINGS)),
            raw_hash: BodyHash::of(self.name.as_bytes()),
            id: EventId::from_bytes(half),
            until: self.until,
        }
    }
}

//! What makes an event *the same* event: `(scope, event id, generation)`, and the keys derived from it.
//!
//! Both derivations are SHA-256 over a domain line followed by each part, preceded by its length as four big-endian
//! bytes. The result is truncated to its first sixteen bytes:
//!
//! | key | domain | parts |
//! |---|---|---|
//! | [`Key`], the ledger's | `hapax-ledger-key:v1\n` | scope, event id |
//! | [`IdempotencyKey`], the destination's | `hapax-idempotency-key:v1\n` | scope, event id, generation in decimal, destination id |

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::hash::sha256_of_parts;
use crate::{BodyHash, DestinationId, Scope};

/// An event's identity, as assigned by its provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The scope in which the id is unique.
    pub scope: Scope,
    /// The provider's id, in its one injective text form.
    pub event_id: String,
}

impl Identity {
    /// Creates an identity.
    pub fn new(scope: impl Into<Scope>, event_id: impl Into<String>) -> Self {
        Self {
            scope: scope.into(),
            event_id: event_id.into(),
        }
    }

    /// The ledger key of this identity.
    pub fn key(&self) -> Key {
        let parts = [self.scope.as_str().as_bytes(), self.event_id.as_bytes()];
        Key(first_half(sha256_of_parts("hapax-ledger-key:v1\n", &parts)))
    }

    /// The key that every attempt to deliver to `destination` carries in this `generation`.
    pub fn idempotency_key(&self, generation: Generation, destination: &DestinationId) -> IdempotencyKey {
        let generation = generation.0.to_string();
        let parts = [
            self.scope.as_str().as_bytes(),
            self.event_id.as_bytes(),
            generation.as_bytes(),
            destination.as_str().as_bytes(),
        ];
        IdempotencyKey(first_half(sha256_of_parts("hapax-idempotency-key:v1\n", &parts)))
    }

    /// The identity of an event with this content whose id belongs to another event: `<id>%conflict:<hash>`. A provider
    /// cannot choose such an id, and different contents never share one.
    #[must_use]
    pub fn of_conflict(&self, content: &BodyHash) -> Self {
        let mark = format!("{CONFLICT_MARK}{content}");
        let mut event_id = format!("{}{mark}", self.event_id);
        if event_id.len() > EVENT_ID_BYTES_MAX {
            event_id = format!("sha256:{}{mark}", BodyHash::of(self.event_id.as_bytes()));
        }
        Self {
            scope: self.scope.clone(),
            event_id,
        }
    }
}

/// The maximum length of an event id, in bytes.
pub const EVENT_ID_BYTES_MAX: usize = 255;

/// Prefix of the id of an event that should have an id but has none; a hash follows. No provider's id starts with it.
pub const SET_ASIDE: &str = "unidentified:";

/// Prefix of ids that Hapax generates because the provider sends no unique id: such an event is never a duplicate. No
/// provider's id starts with it.
pub const GENERATED: &str = "generated:";

/// Separates the id of an event from the hash of a conflicting body that arrived under it. No provider's id contains
/// it: there, `%` is followed by two hexadecimal digits or a dash.
pub const CONFLICT_MARK: &str = "%conflict:";

/// Whether an event is quarantined: one of several in a request, without an id of its own. It is stored and delivered
/// nowhere until an operator chooses a destination.
pub fn is_set_aside(event_id: &str) -> bool {
    event_id.starts_with(SET_ASIDE)
}

/// Where an event's id comes from, as its prefix or mark shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdOrigin {
    /// The provider assigned it.
    #[default]
    Provider,
    /// Hapax generated it: the event is not deduplicated.
    Generated,
    /// There is none: the event is quarantined.
    Missing,
    /// The provider used it for a different body before; the event's id combines both.
    Conflict,
}

impl IdOrigin {
    /// Every origin.
    pub const ALL: [Self; 4] = [Self::Provider, Self::Generated, Self::Missing, Self::Conflict];

    /// The origin's name, as used in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Generated => "generated",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
        }
    }

    /// The origin that the text of an id indicates.
    pub fn of(event_id: &str) -> Self {
        if event_id.contains(CONFLICT_MARK) {
            Self::Conflict
        } else if event_id.starts_with(GENERATED) {
            Self::Generated
        } else if is_set_aside(event_id) {
            Self::Missing
        } else {
            Self::Provider
        }
    }
}

/// How often an identity was deliberately accepted again, by `forget` or a forced replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u32);

impl Generation {
    /// The following generation.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The ledger key: a 16-byte hash of the identity without its generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// Restores a stored key.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The sixteen bytes of the key.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// One of the 64 buckets over which distributed stores spread their tables.
    pub const fn bucket(&self) -> u8 {
        self.0[15] & 0x3f
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// The key by which a destination deduplicates: the same across attempts, crashes and default replays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey([u8; 16]);

impl IdempotencyKey {
    /// Restores a stored key.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The sixteen bytes of the key.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// Formats the key as 32 hexadecimal digits, the value of the `Idempotency-Key` header.
impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for IdempotencyKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn first_half(hash: [u8; 32]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_identity_cannot_run_into_each_other() {
        assert_ne!(Identity::new("ab", "c").key(), Identity::new("a", "bc").key());
    }

    #[test]
    fn the_documented_idempotency_key_of_an_example_stays_what_it_is() {
        // docs/GUARANTEES.md prints this pair; receivers may compute the key themselves.
        let key = Identity::new("stripe", "evt_1").idempotency_key(Generation(0), &"billing".into());
        assert_eq!(key.to_string(), "f78f2f37e3eac4f266b383127f241234");
    }

    #[test]
    fn a_content_under_a_known_id_has_an_identity_that_says_so_and_fits() {
        let (one, other) = (BodyHash::of(b"one"), BodyHash::of(b"other"));
        let first = Identity::new("shop", "evt_1");
        let conflict = first.of_conflict(&one);
        assert_eq!(conflict.event_id, format!("evt_1%conflict:{one}"));
        assert_eq!(IdOrigin::of(&conflict.event_id), IdOrigin::Conflict);
        assert_ne!(conflict, first.of_conflict(&other));
        let long =
            |last: &str| Identity::new("shop", format!("{}{last}", "x".repeat(EVENT_ID_BYTES_MAX - 1)));
        let conflict = long("x").of_conflict(&one);
        assert!(conflict.event_id.len() <= EVENT_ID_BYTES_MAX, "{conflict:?}");
        assert_eq!(IdOrigin::of(&conflict.event_id), IdOrigin::Conflict);
        assert_ne!(conflict, long("y").of_conflict(&one));
    }

    #[test]
    fn every_part_changes_the_idempotency_key() {
        let identity = Identity::new("stripe", "evt_1");
        let key = identity.idempotency_key(Generation(0), &"billing".into());
        assert_ne!(key, identity.idempotency_key(Generation(1), &"billing".into()));
        assert_ne!(key, identity.idempotency_key(Generation(0), &"ledger".into()));
        assert_ne!(
            key,
            Identity::new("stripe", "evt_2").idempotency_key(Generation(0), &"billing".into())
        );
    }
}

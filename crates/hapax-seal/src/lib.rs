//! Encryption at rest: stands before any store, so that what senders and destinations said is nowhere in it in plain.
//!
//! | what | how |
//! |---|---|
//! | headers and bodies of events and conflicts, excerpts and messages of attempts, what sources keep | AES-256-GCM under a key derived for that event, with the place of the value as associated data |
//! | hashes of bodies, values of indexes | a keyed permutation: equal stays equal, and only who has the key can compute one |
//! | everything else: ids, types, times, sources, statuses, keys of lanes, the audit trail | in plain |
//!
//! A stored value is `version | key id | nonce | ciphertext | tag`. Rows from before are read as they are. What the store
//! must remember of all this is one small cell, the `keyring`: the key of the digests, wrapped, and which keys
//! may still be in use.

mod contents;
mod digests;
mod keyring;
mod keys;
mod sealed;
mod texts;

pub use keyring::{Counted, OpenError, Rows};
pub use keys::{KEY_BYTES_MIN, KeyId, Keys, Writes};
pub use sealed::{Reencrypted, Sealed};

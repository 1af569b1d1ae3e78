//! Encryption at rest: wraps any store, so that nothing providers and destinations sent is in it in plain.
//!
//! | what | how |
//! |---|---|
//! | headers and bodies of events and conflicts, excerpts and messages of attempts, values of sources | AES-256-GCM under a key derived for that event, with the place of the value as associated data |
//! | hashes of bodies | AES-256-XTS, tweaked by the event or the scope: equal values stay equal, and computing one takes the key |
//! | values of indexes | a Feistel network of HMAC-SHA-256, tweaked by the pointer: the same |
//! | everything else: ids, types, times, sources, statuses, keys of lanes, the audit trail | in plain |
//!
//! A stored value is `version | key id | nonce | ciphertext | tag`. Rows from before encryption was turned on are read
//! as they are. The store's own state is one small cell, the `keyring`: the wrapped digest key, and which keys may
//! still be in use.

mod contents;
mod digests;
mod keyring;
mod keys;
mod mac;
mod sealed;
mod texts;

pub use keyring::{Counted, OpenError, Rows};
pub use keys::{KEY_BYTES_MIN, KeyId, Keys, Writes};
pub use sealed::{Reencrypted, Sealed};

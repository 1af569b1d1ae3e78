//! Secrets that senders hand over, such as Asana's: taken only while the operator has a registration open, kept in the
//! store, which encrypts them, before the sender is answered, and found there by every replica.
//!
//! In the store a source has `registration`, whose value is when it ends, and a `secret:…` for each that was taken.

mod secrets;

pub(crate) use secrets::{HandedSecrets, NotTaken};

/// What the names of secrets begin with.
const SECRET_PREFIX: &str = "secret:";

//! Signing secrets that providers send in a handshake, such as Asana's. A secret is accepted only while the operator
//! has a registration open. It is stored, encrypted by the store, before the provider is answered, and every replica
//! finds it there.
//!
//! For each source, the store holds a `registration`, whose value is the time at which it ends, and a `secret:…` for
//! each accepted secret.

mod secrets;

pub(crate) use secrets::{HandedSecrets, NotTaken};

/// The prefix of the secrets' names.
const SECRET_PREFIX: &str = "secret:";

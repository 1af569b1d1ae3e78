//! What admits a caller.

use hapax_core::Secret;

/// The credential that admitted a caller.
#[derive(Clone, Debug)]
pub(crate) enum Credential {
    /// None: no token is configured, and the caller is on this machine.
    None,
    Token(Secret),
    Session(Secret),
}

//! Finds the token of a caller in constant time: it is compared with every token, right or wrong.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};

use super::Access;
use hapax_config::Token;

impl Access {
    /// The token with this value.
    pub(super) fn token_of(&self, given: &[u8]) -> Option<&Token> {
        // Digests have the same length, so that the timing does not reveal a token's length either.
        let given = digest(&SHA256, given);
        let mut found = None;
        // No early exit: the timing must not reveal which token matched, or whether one did.
        for token in &self.tokens {
            let known = digest(&SHA256, token.token.expose().as_bytes());
            let is_equal = verify_slices_are_equal(given.as_ref(), known.as_ref()).is_ok();
            found = found.or(is_equal.then_some(token));
        }
        found
    }

    /// The token with this name.
    pub(super) fn token_named(&self, name: &str) -> Option<&Token> {
        self.tokens.iter().find(|token| token.name == name)
    }
}

/// The token in `Bearer TOKEN`.
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim_ascii())
}

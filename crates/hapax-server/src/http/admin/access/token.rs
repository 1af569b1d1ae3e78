//! Which token a caller has: compared with every one there is, in the same time whether it is right or wrong.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use hapax_core::Secret;

use super::{Access, Role};

impl Access {
    /// Every token with what it opens; none where this machine needs none.
    pub(super) fn tokens(&self) -> impl Iterator<Item = (Role, &Secret)> {
        let admin = self.token.iter().map(|token| (Role::Admin, token));
        admin.chain(self.read_tokens.iter().map(|token| (Role::ReadOnly, token)))
    }

    /// What this token opens.
    pub(super) fn role_of(&self, given: &[u8]) -> Option<Role> {
        // Digests have one length, so that the time tells nothing of a token's length either.
        let given = digest(&SHA256, given);
        let mut found = None;
        // No early exit: which token was right, and whether one was, must not show in the time.
        for (role, token) in self.tokens() {
            let known = digest(&SHA256, token.expose().as_bytes());
            let is_equal = verify_slices_are_equal(given.as_ref(), known.as_ref()).is_ok();
            found = found.or(is_equal.then_some(role));
        }
        found
    }
}

/// The token in `Bearer TOKEN`.
pub(super) fn bearer(value: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim_ascii())
}

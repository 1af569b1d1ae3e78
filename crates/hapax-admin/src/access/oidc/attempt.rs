//! One sign-in attempt: binds the returning browser to the one that left.
//!
//! The browser holds one random secret in a cookie for ten minutes. State, nonce and PKCE verifier are derived from
//! it, so that nothing is stored for unknown visitors, and any replica can complete the sign-in. It works only once,
//! because the provider accepts each code once, and only with the verifier that it was requested with.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// How long a sign-in at the provider may take.
pub const ATTEMPT_LIFE_SECONDS: u32 = 600;
/// Maximum length of the page to return to: it is part of a URL.
const NEXT_BYTES_MAX: usize = 512;
/// Length of the secret.
const SECRET_BYTES: usize = 64;

/// The secret that the browser holds.
pub struct Attempt {
    secret: String,
}

impl Attempt {
    pub(super) const fn new(secret: String) -> Self {
        Self { secret }
    }

    /// The attempt from a cookie.
    pub fn of_cookie(value: &str) -> Option<Self> {
        (value.len() == SECRET_BYTES).then(|| Self::new(value.to_owned()))
    }

    /// The cookie's value.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The `state` parameter, which contains the page to return to.
    pub(super) fn state(&self, next: &str) -> String {
        let next = if next.len() <= NEXT_BYTES_MAX { next } else { "/" };
        format!("{}.{}", self.derive("state", next), URL_SAFE_NO_PAD.encode(next))
    }

    /// The page in the `state` of this attempt; `None` if the state is not from this attempt.
    pub(super) fn next_of(&self, state: &str) -> Option<String> {
        let (tag, next) = state.split_once('.')?;
        let next = String::from_utf8(URL_SAFE_NO_PAD.decode(next).ok()?).ok()?;
        verify_slices_are_equal(tag.as_bytes(), self.derive("state", &next).as_bytes()).ok()?;
        Some(next)
    }

    /// The nonce that the ID token must contain.
    pub(super) fn nonce(&self) -> String {
        self.derive("nonce", "")
    }

    /// The PKCE verifier: proves to the provider that the code is redeemed by the client that requested it.
    pub(super) fn verifier(&self) -> String {
        self.derive("verifier", "")
    }

    /// The PKCE challenge, which the provider receives in advance.
    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier().as_bytes()))
    }

    fn derive(&self, purpose: &str, more: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.secret.as_bytes());
        hex::encode(hmac::sign(
            &key,
            format!("hapax sign-in {purpose} {more}").as_bytes(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_brings_its_page_back_to_its_own_attempt_alone() {
        let (mine, other) = (Attempt::new("a".repeat(64)), Attempt::new("b".repeat(64)));
        let state = mine.state("/events?q=a");
        assert_eq!(mine.next_of(&state).as_deref(), Some("/events?q=a"));
        assert_eq!(other.next_of(&state), None);
        let (tag, _) = state.split_once('.').unwrap();
        let turned = format!("{tag}.{}", URL_SAFE_NO_PAD.encode("//evil.example"));
        for forged in ["", ".", tag, &turned, "x.y"] {
            assert_eq!(mine.next_of(forged), None, "{forged}");
        }
        assert_eq!(
            mine.next_of(&mine.state(&"/".repeat(NEXT_BYTES_MAX + 1)))
                .as_deref(),
            Some("/")
        );
    }

    #[test]
    fn nothing_that_is_sent_tells_another_part() {
        let attempt = Attempt::new("a".repeat(64));
        let parts = [
            attempt.nonce(),
            attempt.verifier(),
            attempt.challenge(),
            attempt.state(""),
        ];
        for (index, part) in parts.iter().enumerate() {
            assert!(
                parts[index + 1..]
                    .iter()
                    .all(|other| !other.contains(part.as_str()))
            );
        }
        assert!(Attempt::of_cookie("").is_none());
    }
}

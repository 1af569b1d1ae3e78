//! Sessions: what a browser holds instead of a token, in the cookie `hapax_session`.
//!
//! A session is signed with a key made from the token that opened it. Nothing is stored: any replica can read it, and a
//! token that is changed or removed ends every session that it opened. Which token signed it also says its role.

use std::time::Duration;

use aws_lc_rs::hmac;
use hapax_core::{Secret, Timestamp};
use http::HeaderMap;
use http::header::COOKIE;

use super::{Access, Role};

/// The cookie.
pub(in crate::http) const COOKIE_NAME: &str = "hapax_session";
/// How long a session lasts.
pub(in crate::http) const SESSION_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// Longest name that a session keeps, in bytes.
pub(in crate::http) const NAME_BYTES_MAX: usize = 64;

const KEY_USE: &[u8] = b"hapax session 1";
const FORM_USE: &[u8] = b"hapax form 1";

/// Names one session.
pub(super) type SessionId = [u8; 16];

/// What the cookie says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct Session {
    pub(super) id: SessionId,
    pub(super) expires_at: Timestamp,
    /// What the person typed at the login; empty if nothing.
    pub(in crate::http) name: String,
}

/// A session that is valid.
#[derive(Clone, Debug)]
pub(in crate::http) struct Opened {
    /// What it may do.
    pub(in crate::http) role: Role,
    /// What every form of its pages must carry.
    pub(in crate::http) csrf: String,
    /// What the cookie says.
    pub(in crate::http) session: Session,
}

impl Session {
    /// The cookie's value.
    pub(super) fn sign(&self, token: &Secret) -> String {
        let text = self.text();
        let tag = hmac::sign(&key(token), text.as_bytes());
        format!("{text}.{}", hex::encode(tag))
    }

    fn text(&self) -> String {
        format!(
            "{}.{}.{}",
            hex::encode(self.id),
            self.expires_at.as_seconds(),
            hex::encode(&self.name)
        )
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split('.');
        let mut id = [0; 16];
        hex::decode_to_slice(fields.next()?, &mut id).ok()?;
        let expires_at = Timestamp::from_seconds(fields.next()?.parse().ok()?);
        let name = String::from_utf8(hex::decode(fields.next()?).ok()?).ok()?;
        fields.next().is_none().then_some(Self { id, expires_at, name })
    }
}

impl Access {
    /// The session that a cookie holds, unless it is forged or over.
    pub(super) fn read_session(&self, cookie: &str, now: Timestamp) -> Option<Opened> {
        let (text, tag) = cookie.rsplit_once('.')?;
        let tag = hex::decode(tag).ok()?;
        let (role, key) = self
            .tokens()
            .map(|(role, token)| (role, key(token)))
            .find(|(_, key)| hmac::verify(key, text.as_bytes(), &tag).is_ok())?;
        let session = Session::parse(text).filter(|session| now < session.expires_at)?;
        let csrf = form_token(&key, &session.id);
        Some(Opened { role, csrf, session })
    }
}

/// What a form must carry, for a session or for whoever is let in without one.
pub(super) fn form_token(key: &hmac::Key, whose: &[u8]) -> String {
    let mut context = hmac::Context::with_key(key);
    context.update(FORM_USE);
    context.update(whose);
    hex::encode(context.sign())
}

/// The value of one of the request's cookies.
pub(in crate::http) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter();
    all.filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
}

fn key(token: &Secret) -> hmac::Key {
    let root = hmac::Key::new(hmac::HMAC_SHA256, token.expose().as_bytes());
    hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&root, KEY_USE).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(token: &str, read_token: &str) -> Access {
        Access {
            token: Some(Secret::new(token)),
            read_tokens: vec![Secret::new(read_token)],
            listen: "127.0.0.1:8081".parse().unwrap(),
        }
    }

    fn session() -> Session {
        Session {
            id: [7; 16],
            expires_at: Timestamp::from_seconds(1_000),
            name: "Ada.L; 1".to_owned(),
        }
    }

    #[test]
    fn a_session_reads_back_as_itself_with_the_role_of_the_token_that_opened_it() {
        let access = access("admin", "reader");
        let now = Timestamp::from_seconds(999);
        for (token, role) in [("admin", Role::Admin), ("reader", Role::ReadOnly)] {
            let opened = access
                .read_session(&session().sign(&Secret::new(token)), now)
                .unwrap();
            assert_eq!((opened.role, opened.session), (role, session()));
        }
    }

    #[test]
    fn a_session_ends_with_its_time_and_with_its_token() {
        let cookie = session().sign(&Secret::new("admin"));
        let at = |access: Access, seconds| {
            access
                .read_session(&cookie, Timestamp::from_seconds(seconds))
                .is_some()
        };
        assert!(at(access("admin", "reader"), 999));
        assert!(!at(access("admin", "reader"), 1_000));
        assert!(!at(access("another", "reader"), 999));
    }

    #[test]
    fn no_letter_of_a_cookie_can_be_changed() {
        let access = access("admin", "reader");
        let cookie = session().sign(&Secret::new("admin"));
        for place in 0..cookie.len() {
            let mut changed = cookie.clone().into_bytes();
            changed[place] = if changed[place] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(
                access
                    .read_session(&changed, Timestamp::from_seconds(999))
                    .is_none(),
                "{changed}"
            );
        }
        for text in ["", ".", "...", "zz.1.2.3"] {
            assert!(access.read_session(text, Timestamp::from_seconds(0)).is_none());
        }
    }

    #[test]
    fn two_sessions_have_two_form_tokens() {
        let key = key(&Secret::new("admin"));
        assert_ne!(form_token(&key, &[1; 16]), form_token(&key, &[2; 16]));
    }
}

//! Who opened a session, and whether they would still be admitted.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use hapax_core::Secret;
use serde::{Deserialize, Serialize};

use super::credential::Credential;
use super::oidc::{LoggedOut, User};
use super::{Access, Caller};
use hapax_config::{Oidc, Token};

const TOKEN_USE: &[u8] = b"hapax session 2";

/// Who opened a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Opener {
    /// A caller with a token.
    Token {
        /// The token's name.
        name: String,
        /// An HMAC of the token's value, keyed with the cookie: changing the token ends its sessions, and a reader of
        /// the store can guess neither.
        proof: String,
        /// The note typed at login.
        note: String,
    },
    /// A user who signed in at the identity provider.
    User {
        issuer: String,
        /// A fingerprint of `[server.oidc]`: changed settings could give another role, so they end the session.
        fingerprint: String,
        /// The user, as the provider described them at sign-in.
        user: User,
    },
}

impl Opener {
    /// A caller with a token, who receives this cookie.
    pub(super) fn token(token: &Token, cookie: &str, note: String) -> Self {
        Self::Token {
            name: token.name.clone(),
            proof: hex::encode(proof(cookie, token)),
            note,
        }
    }

    /// A user who signed in at the identity provider.
    pub(super) fn user(oidc: &Oidc, user: User) -> Self {
        Self::User {
            issuer: oidc.issuer.clone(),
            fingerprint: oidc.fingerprint(),
            user,
        }
    }

    /// Whether the identity provider has ended the session.
    pub(super) fn is_logged_out(&self, oidc: &Oidc, logged_out: &LoggedOut) -> bool {
        match self {
            Self::Token { .. } => false,
            Self::User { issuer, user, .. } => *issuer == oidc.issuer && user.is_logged_out(logged_out),
        }
    }

    /// The current caller; `None` if the token or `[server.oidc]` has changed since.
    pub(super) fn caller(&self, access: &Access, cookie: &str) -> Option<Caller> {
        let credential = Credential::Session(Secret::new(cookie));
        match self {
            Self::Token { name, proof, note } => {
                let known = hex::decode(proof).unwrap_or_default();
                let is_same = |token: &&Token| {
                    verify_slices_are_equal(self::proof(cookie, token).as_ref(), &known).is_ok()
                };
                let token = access.token_named(name).filter(is_same)?;
                Some(Caller {
                    credential,
                    ..Caller::of(token, note.clone())
                })
            }
            Self::User {
                fingerprint, user, ..
            } => {
                access.oidc().filter(|oidc| oidc.fingerprint() == *fingerprint)?;
                Some(Caller::of_user(user, credential))
            }
        }
    }

    /// Whether both are the same token or the same user.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Token { name: one, .. }, Self::Token { name: other, .. }) => one == other,
            (
                Self::User { issuer, user, .. },
                Self::User {
                    issuer: at,
                    user: other,
                    ..
                },
            ) => issuer == at && user.subject == other.subject,
            (Self::Token { .. } | Self::User { .. }, _) => false,
        }
    }
}

fn proof(cookie: &str, token: &Token) -> hmac::Tag {
    let key = hmac::Key::new(hmac::HMAC_SHA256, cookie.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    context.update(TOKEN_USE);
    context.update(token.token.expose().as_bytes());
    context.sign()
}

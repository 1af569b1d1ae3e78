//! What access remembers while the process runs: sessions that were signed out, addresses that guess, and a key for
//! forms where there is no token.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use aws_lc_rs::{hmac, rand};
use hapax_core::{Clock as _, Secret, SystemClock, Timestamp};
use http::HeaderMap;
use tokio::time::Instant;

use super::backoff::{Backoff, Refused};
use super::session::{COOKIE_NAME, Opened, SESSION_LIFE, Session, SessionId, cookie, form_token};
use super::{Access, Role};
use crate::http::admin::fault::Fault;

/// Signed-out sessions remembered at once; one more forgets the one that would have ended first.
const REVOKED_MAX: usize = 10_000;

/// The memory of the door. It is this process's own: another replica does not know of it.
pub(in crate::http) struct Gate {
    backoff: Backoff,
    revoked: Mutex<HashMap<SessionId, Timestamp>>,
    form_key: hmac::Key,
}

impl Gate {
    /// A gate that knows nobody.
    pub(in crate::http) fn new() -> Self {
        Self {
            backoff: Backoff::default(),
            revoked: Mutex::default(),
            form_key: hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()),
        }
    }

    /// What this token opens, for somebody at this address.
    pub(super) fn try_token(&self, access: &Access, given: &[u8], from: IpAddr) -> Result<Role, Fault> {
        let check = || access.role_of(given);
        self.backoff
            .attempt(from, Instant::now(), check)
            .map_err(|refused| match refused {
                Refused::Wrong => Fault::unauthorized("the token is not one of this service's"),
                Refused::Wait(wait) => Fault::too_many_attempts(wait),
            })
    }

    /// A new session for whoever has this token; its cookie's value.
    pub(in crate::http) fn sign_in(
        &self,
        access: &Access,
        given: &str,
        name: &str,
        from: IpAddr,
    ) -> Result<String, Fault> {
        self.try_token(access, given.as_bytes(), from)?;
        let session = Session {
            id: random(),
            expires_at: SystemClock::default().now().plus(SESSION_LIFE),
            name: name.to_owned(),
        };
        Ok(session.sign(&Secret::new(given)))
    }

    /// The session of a request, unless it was signed out here.
    pub(in crate::http) fn session(&self, access: &Access, headers: &HeaderMap) -> Option<Opened> {
        let now = SystemClock::default().now();
        let opened = access.read_session(cookie(headers, COOKIE_NAME)?, now)?;
        let revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        (!revoked.contains_key(&opened.session.id)).then_some(opened)
    }

    /// Ends a session before its time.
    pub(in crate::http) fn sign_out(&self, session: &Session) {
        let now = SystemClock::default().now();
        let mut revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        if revoked.len() >= REVOKED_MAX {
            revoked.retain(|_, expires_at| now < *expires_at);
        }
        if revoked.len() >= REVOKED_MAX {
            let first = revoked.iter().min_by_key(|(_, expires_at)| **expires_at);
            if let Some(first) = first.map(|(id, _)| *id) {
                revoked.remove(&first);
            }
        }
        revoked.insert(session.id, session.expires_at);
    }

    /// What forms carry where nobody has to sign in.
    pub(in crate::http) fn local_form_token(&self) -> String {
        form_token(&self.form_key, b"local")
    }
}

fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    // The library's generator does not fail once the process runs; zeroes here would be guessed, so nothing goes on.
    if rand::fill(&mut bytes).is_err() {
        tracing::error!("the system has no randomness");
        std::process::abort();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            token: Some(Secret::new("admin")),
            read_tokens: Vec::new(),
            listen: "127.0.0.1:8081".parse().unwrap(),
        }
    }

    fn headers(cookie: &str) -> HeaderMap {
        let line = format!("theme=dark; {COOKIE_NAME}={cookie}; other=1");
        HeaderMap::from_iter([(http::header::COOKIE, line.parse().unwrap())])
    }

    fn sign_in(gate: &Gate) -> HeaderMap {
        headers(
            &gate
                .sign_in(&access(), "admin", "Ada", IpAddr::from([127, 0, 0, 1]))
                .unwrap(),
        )
    }

    #[test]
    fn a_session_that_was_signed_out_is_closed_and_others_stay_open() {
        let gate = Gate::new();
        let (first, second) = (sign_in(&gate), sign_in(&gate));
        let opened = gate.session(&access(), &first).unwrap();
        gate.sign_out(&opened.session);
        assert!(gate.session(&access(), &first).is_none());
        assert!(gate.session(&access(), &second).is_some());
    }

    #[test]
    fn the_record_of_signed_out_sessions_has_a_limit() {
        let gate = Gate::new();
        let expires_at = SystemClock::default().now().plus(SESSION_LIFE);
        for number in 0..u32::try_from(REVOKED_MAX).unwrap() + 10 {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&number.to_be_bytes());
            gate.sign_out(&Session {
                id,
                expires_at,
                name: String::new(),
            });
        }
        assert_eq!(gate.revoked.lock().unwrap().len(), REVOKED_MAX);
    }
}

//! The in-memory state of access control: addresses that guess tokens, and a form key for services without a token.

use std::net::IpAddr;
use std::sync::Arc;

use aws_lc_rs::hmac;
use hapax_core::{Backend, Clock};
use http::HeaderMap;
use tokio::time::Instant;

use super::Access;
use super::backoff::{Backoff, Refused};
use super::oidc::{LoggedOut, User};
use super::opener::Opener;
use super::random::random;
use super::session::{self, COOKIE_NAME, Opened, cookie, form_token};
use crate::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;
use hapax_config::{Oidc, Token};

/// The in-memory state of access control. Each replica has a separate one.
pub struct Gate {
    clock: Arc<dyn Clock>,
    backoff: Backoff,
    form_key: hmac::Key,
}

impl Gate {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            backoff: Backoff::default(),
            form_key: hmac::Key::new(hmac::HMAC_SHA256, &random()),
        }
    }

    /// The token with this value, for a caller at this address.
    pub(super) fn try_token<'a>(
        &self,
        access: &'a Access,
        given: &[u8],
        from: IpAddr,
    ) -> ApiResult<&'a Token> {
        let check = || access.token_of(given);
        self.backoff
            .attempt(from, Instant::now(), check)
            .map_err(|refused| match refused {
                Refused::Wrong => ApiError::new(Code::Unauthorized, "the token is not known to this service"),
                Refused::Wait(wait) => ApiError::too_many_attempts(wait),
            })
    }

    /// Opens a session for the holder of this token, and returns the cookie's value.
    pub async fn sign_in(
        &self,
        access: &Access,
        store: &dyn Backend,
        given: &str,
        note: String,
        from: IpAddr,
    ) -> ApiResult<String> {
        let token = self.try_token(access, given.as_bytes(), from)?;
        let cookie = hex::encode(random());
        let opener = Opener::token(token, &cookie, note);
        session::open(store, &cookie, opener, self.clock.now()).await?;
        Ok(cookie)
    }

    /// Opens a session for a user of the identity provider, and returns the cookie's value.
    pub async fn admit_user(&self, oidc: &Oidc, store: &dyn Backend, user: User) -> ApiResult<String> {
        let cookie = hex::encode(random());
        let opener = Opener::user(oidc, user);
        session::open(store, &cookie, opener, self.clock.now()).await?;
        Ok(cookie)
    }

    /// Ends the sessions that the identity provider has ended.
    pub async fn end_sessions(
        &self,
        oidc: &Oidc,
        store: &dyn Backend,
        logged_out: &LoggedOut,
    ) -> ApiResult<()> {
        session::end_where(store, |opener| opener.is_logged_out(oidc, logged_out)).await
    }

    /// The session of a request.
    pub async fn session(
        &self,
        access: &Access,
        store: &dyn Backend,
        headers: &HeaderMap,
    ) -> ApiResult<Option<Opened>> {
        match cookie(headers, COOKIE_NAME) {
            Some(cookie) => session::find(access, store, cookie, self.clock.now()).await,
            None => Ok(None),
        }
    }

    /// The token that forms carry if sign-in is not required.
    pub fn local_form_token(&self) -> String {
        form_token(&self.form_key, b"local")
    }
}

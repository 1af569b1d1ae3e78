//! Answers without an end: they end once whoever gets them would not be let in again.

use std::time::Duration;

use axum::extract::FromRequestParts;
use hapax_core::{Backend, Clock as _, Secret, SystemClock};
use http::request::Parts;
use tokio::time::sleep;

use super::{Access, Caller, session};
use crate::api_error::{ApiError, ApiResult};
use crate::state::AdminState;

/// How often it is looked at.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// What let someone in.
#[derive(Clone, Debug)]
pub(super) enum Credential {
    /// Nothing: there is no token, and they are on this machine.
    None,
    /// This token.
    Token(Secret),
    /// The session of this cookie.
    Session(Secret),
}

/// Someone who may get an answer without an end.
pub struct StillAdmitted {
    caller: Caller,
    /// Not narrowed: what is narrowed does not hear of a reload.
    state: AdminState,
}

impl StillAdmitted {
    /// Ends once they are not let in any more, or may see something else: they signed out on any replica, their session
    /// ended, or their token was changed.
    pub async fn ends(self) {
        loop {
            sleep(CHECK_EVERY).await;
            let access = &self.state.settings.load_full().access;
            let store = &**self.state.engine.store();
            match access.again(store, &self.caller.credential).await {
                Ok(Some(now)) if now.role == self.caller.role && now.visible == self.caller.visible => {}
                // A store that cannot be asked lets no one in, so that no one stays in either.
                Ok(_) | Err(_) => return,
            }
        }
    }
}

impl FromRequestParts<AdminState> for StillAdmitted {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AdminState) -> Result<Self, ApiError> {
        let caller = Caller::from_request_parts(parts, state).await?;
        let state = state.clone();
        Ok(Self { caller, state })
    }
}

impl Access {
    /// Who someone would be that came again with the same.
    async fn again(&self, store: &dyn Backend, credential: &Credential) -> ApiResult<Option<Caller>> {
        match credential {
            Credential::None => Ok(self.is_open().then(|| Caller::local(String::new()))),
            Credential::Token(given) => {
                let token = self.token_of(given.expose().as_bytes());
                Ok(token.map(|token| Caller::of(token, String::new())))
            }
            Credential::Session(cookie) => {
                let now = SystemClock::default().now();
                let found = session::look(self, store, cookie.expose(), now).await?;
                Ok(found.map(|(_, caller)| caller))
            }
        }
    }
}

//! Open-ended responses: they end once the caller would no longer be admitted.

use std::time::Duration;

use axum::extract::FromRequestParts;
use http::request::Parts;
use tokio::time::sleep;

use crate::access::Caller;
use crate::api_error::ApiError;
use crate::state::AdminState;

/// How often admission is checked.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// A caller of an open-ended response.
pub struct StillAdmitted {
    caller: Caller,
    /// Not narrowed, because a narrowed state does not follow reloads.
    state: AdminState,
}

impl StillAdmitted {
    /// Completes once the caller is no longer admitted or their rights have changed: they signed out on any replica,
    /// their session ended, or their token changed.
    pub async fn ends(self) {
        loop {
            sleep(CHECK_EVERY).await;
            let access = &self.state.settings.load_full().access;
            let store = &**self.state.engine.store();
            match access
                .again(store, &self.caller.credential, self.state.now())
                .await
            {
                Ok(Some(now)) if now.role == self.caller.role && now.visible == self.caller.visible => {}
                // If the store cannot be read, no one is admitted, so no one stays admitted either.
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

//! Admission to the handlers: the middleware that identifies a caller, and what it lets them have of the service.
//!
//! `guard` protects the API, and `dashboard::wrap` the pages. Both put a [`Caller`] into the request, and [`Narrowed`]
//! limits the service to its sources.

mod narrowed;
mod still;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;

use super::access::{Caller, CallerRequest, peer};
use super::api_error::ApiError;
use super::state::AdminState;
use hapax_api::problem::Code;

pub use narrowed::Narrowed;
pub use still::StillAdmitted;

/// The middleware that protects every path under `/api/v1`.
pub(super) async fn guard(State(state): State<AdminState>, mut request: Request, next: Next) -> Response {
    let settings = state.settings.load_full();
    let asked = CallerRequest {
        method: request.method(),
        headers: request.headers(),
        from: peer(request.extensions()),
    };
    let store = &**state.engine.store();
    let admitted = settings.access.admit(&state.gate, store, asked).await;
    let checked = admitted.and_then(|caller| {
        caller.check(request.method(), request.uri().path())?;
        Ok(caller)
    });
    match checked {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(fault) => fault.into_response(),
    }
}

impl FromRequestParts<AdminState> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AdminState) -> Result<Self, ApiError> {
        // The guard or `wrap` has inserted the caller; paths outside of both have none.
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| ApiError::new(Code::Unauthorized, "sign in, or send a token"))
    }
}

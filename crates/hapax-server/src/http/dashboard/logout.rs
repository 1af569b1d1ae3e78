//! `POST /logout`: ends the session here and takes the cookie away.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;

use super::done::Done;
use super::viewer::Acting;
use crate::http::admin::AdminState;
use crate::http::admin::access::COOKIE_NAME;

/// Signs out.
pub(super) async fn sign_out(State(state): State<AdminState>, Acting(viewer, _): Acting) -> Response {
    if let Some(session) = &viewer.session {
        state.gate.sign_out(session);
    }
    let cookie = format!("{COOKIE_NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    let login = format!("/login?done={}", Done::SignedOut.code());
    ([(SET_COOKIE, cookie)], Redirect::to(&login)).into_response()
}

//! `POST /logout`: ends the session, or every session of its token or user, and deletes the cookie.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;

use super::done::Done;
use super::viewer::Acting;
use hapax_admin::AdminState;
use hapax_admin::access::COOKIE_NAME;
use hapax_admin::api_error::ApiResult;

pub(super) async fn sign_out(
    State(state): State<AdminState>,
    Acting(viewer, fields): Acting,
) -> ApiResult<Response> {
    let store = &**state.engine.store();
    if let Some(session) = &viewer.session {
        match fields.get("everywhere") {
            Some(_) => session.end_all(store).await?,
            None => session.end(store).await?,
        }
    }
    let cookie = format!("{COOKIE_NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    let login = format!("/login?done={}", Done::SignedOut.code());
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&login)).into_response())
}

//! Sign-in with an identity provider: `/login/oidc` redirects the browser there, `/login/oidc/callback` receives it
//! back, and the provider calls `/logout/oidc` to end sessions.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use http::header::{REFRESH, SET_COOKIE};
use http::{HeaderMap, StatusCode};
use maud::html;
use serde::Deserialize;

use super::fields::Fields;
use super::frame;
use super::login::session_cookie;
use super::next::local;
use super::theme::Theme;
use hapax_admin::AdminState;
use hapax_admin::access::{ATTEMPT_LIFE_SECONDS, Attempt, IdentityProvider, Returned, cookie};
use hapax_admin::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;
use hapax_config::Oidc;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SignInParams {
    next: String,
}

/// Redirects the browser to the provider, with a cookie that identifies the attempt on return.
pub(super) async fn begin(
    State(state): State<AdminState>,
    Query(asked): Query<SignInParams>,
) -> ApiResult<Response> {
    let (oidc, provider) = configured(&state)?;
    let (url, attempt) = provider.begin(&oidc, local(&asked.next)).await?;
    let cookie = attempt_cookie(&oidc, attempt.secret(), ATTEMPT_LIFE_SECONDS);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&url)).into_response())
}

/// Receives the browser from the provider. The next page is loaded by a page of ours: a navigation from another site
/// does not send `SameSite=Strict` cookies, not even after a redirect.
pub(super) async fn callback(
    State(state): State<AdminState>,
    headers: HeaderMap,
    Query(returned): Query<Returned>,
) -> ApiResult<Response> {
    let (oidc, provider) = configured(&state)?;
    let held = cookie(&headers, cookie_name(&oidc)).and_then(Attempt::of_cookie);
    let attempt = held.ok_or_else(ApiError::sign_in_stale)?;
    let (user, next) = provider.finish(&oidc, &attempt, &returned).await?;
    tracing::info!(
        user = user.subject,
        role = user.role.as_str(),
        "signed in at the identity provider"
    );
    let store = &**state.engine.store();
    let session = state.gate.admit_user(&oidc, store, user).await?;
    let next = local(&next);
    let cookies = AppendHeaders([
        (SET_COOKIE, session_cookie(&session, secure(&oidc))),
        (SET_COOKIE, attempt_cookie(&oidc, "", 0)),
    ]);
    let content = html! { p { "You are signed in. " a href=(next) { "Continue" } } };
    let page = frame::bare(Theme::of(&headers), "Signed in", &content);
    Ok((cookies, [(REFRESH, format!("0; url={next}"))], page).into_response())
}

/// Ends the sessions that the provider has ended, on every replica.
pub(super) async fn log_out(State(state): State<AdminState>, fields: Fields) -> ApiResult<Response> {
    let (oidc, provider) = configured(&state)?;
    let token = fields.get("logout_token").unwrap_or_default();
    let logged_out = provider.logged_out(&oidc, token).await?;
    let store = &**state.engine.store();
    state.gate.end_sessions(&oidc, store, &logged_out).await?;
    Ok(StatusCode::OK.into_response())
}

fn configured(state: &AdminState) -> ApiResult<(Arc<Oidc>, Arc<IdentityProvider>)> {
    let settings = state.settings.load();
    let oidc = settings.access.oidc().cloned();
    oidc.zip(state.identity_provider.clone()).ok_or_else(|| {
        ApiError::new(
            Code::UnknownPath,
            "no identity provider is configured; set [server.oidc]",
        )
    })
}

/// With TLS, the prefix prevents other hosts of the domain from setting this cookie.
fn cookie_name(oidc: &Oidc) -> &'static str {
    match secure(oidc) {
        "" => "hapax_sign_in",
        _ => "__Host-hapax_sign_in",
    }
}

/// `Lax`, because the browser returns from another site.
fn attempt_cookie(oidc: &Oidc, value: &str, life_seconds: u32) -> String {
    let (name, secure) = (cookie_name(oidc), secure(oidc));
    format!("{name}={value}; Path=/; Max-Age={life_seconds}; HttpOnly; SameSite=Lax{secure}")
}

fn secure(oidc: &Oidc) -> &'static str {
    if oidc.dashboard_url.starts_with("https://") {
        "; Secure"
    } else {
        ""
    }
}

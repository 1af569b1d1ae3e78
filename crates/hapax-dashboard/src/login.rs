//! `/login`: signs in with a token, or links to the identity provider.

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;
use http::{Extensions, HeaderMap, StatusCode};
use maud::html;
use serde::Deserialize;

use super::done::Done;
use super::fields::Fields;
use super::frame;
use super::next::local;
use super::theme::Theme;
use super::viewer::Viewer;
use hapax_admin::AdminState;
use hapax_admin::access::{
    COOKIE_NAME, NOTE_BYTES_MAX, SESSION_LIFE, check_origin, checked_note, is_from_https, peer,
};
use hapax_admin::api_error::ApiResult;
use hapax_api::path::Parameters;
use hapax_listen::Encrypted;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LoginParams {
    next: String,
    done: String,
}

/// The login form. A viewer who is already signed in is redirected.
pub(super) async fn page(
    State(state): State<AdminState>,
    viewer: Result<Viewer, Response>,
    headers: HeaderMap,
    Query(asked): Query<LoginParams>,
) -> Response {
    if viewer.is_ok() {
        return Redirect::to(local(&asked.next)).into_response();
    }
    let said = Done::of(Some(&format!("done={}", asked.done)));
    let said = said.map_or(Said::Nothing, |done| Said::Done(done.words()));
    show(&state, Theme::of(&headers), &asked.next, said)
}

/// Signs in with a token. If it is wrong, the form is shown again with an error.
pub(super) async fn sign_in(
    State(state): State<AdminState>,
    headers: HeaderMap,
    extensions: Extensions,
    fields: Fields,
) -> ApiResult<Response> {
    check_origin(&headers)?;
    let next = local(fields.get("next").unwrap_or_default());
    let access = &state.settings.load_full().access;
    if access.is_open() {
        return Ok(Redirect::to(next).into_response());
    }
    let note = checked_note(fields.get("note").unwrap_or_default())?;
    let token = fields.get("token").unwrap_or_default().trim();
    let store = &**state.engine.store();
    let signed_in = state
        .gate
        .sign_in(access, store, token, note, peer(&extensions))
        .await;
    let value = match signed_in {
        Ok(value) => value,
        Err(fault) if fault.status() == StatusCode::UNAUTHORIZED => {
            let again = show(&state, Theme::of(&headers), next, Said::WrongToken);
            return Ok((StatusCode::UNAUTHORIZED, again).into_response());
        }
        Err(fault) => return Err(fault),
    };
    let is_encrypted = extensions.get::<Encrypted>().is_some() || is_from_https(&headers);
    let secure = if is_encrypted { "; Secure" } else { "" };
    let cookie = session_cookie(&value, secure);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(next)).into_response())
}

/// The cookie of a session; `secure` is `; Secure` if the dashboard is opened over TLS.
pub(super) fn session_cookie(value: &str, secure: &str) -> String {
    let life_seconds = SESSION_LIFE.as_secs();
    format!("{COOKIE_NAME}={value}; Path=/; Max-Age={life_seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// The message above the form's fields.
#[derive(Clone, Copy)]
enum Said {
    Nothing,
    Done(&'static str),
    WrongToken,
}

fn show(state: &AdminState, theme: Theme, next: &str, said: Said) -> Response {
    let has_provider = state.settings.load().access.oidc().is_some();
    let provider = Parameters::default()
        .with("next", Some(local(next)))
        .on("/login/oidc");
    let content = html! {
        @match said {
            Said::Nothing => {},
            Said::Done(words) => p class="notice good" role="status" { (words) },
            Said::WrongToken => p id="wrong" class="notice bad" role="alert" {
                "This is not a token of this service. The admin token is " code { "server.admin_token" }
                " in its configuration; the others are in " code { "[[server.tokens]]" } "."
            },
        }
        @if has_provider {
            p class="card" {
                a class="button primary" href=(provider) { "Sign in with single sign-on" }
            }
        }
        form class="card stack" method="post" action="/login" {
            input type="hidden" name="next" value=(local(next));
            label for="token" { "Token" }
            input id="token" name="token" type="password" required autofocus autocomplete="current-password"
                aria-describedby=[matches!(said, Said::WrongToken).then_some("wrong")];
            label for="note" { "Note " span class="muted" { "(optional, such as your name; the audit trail shows it next to the token's name)" } }
            input id="note" name="note" type="text" maxlength=(NOTE_BYTES_MAX) autocomplete="username";
            button class="button primary" type="submit" { "Sign in" }
        }
    };
    frame::bare(theme, "Sign in", &content)
}

//! The viewer of a page, and what they may change.
//!
//! [`Viewer`] is the extractor for pages: without a session, it redirects to the login. [`Acting`] is the extractor
//! for forms: it also requires the CSRF token. `wrap` has already checked whether the viewer may make the request.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Redirect, Response};
use http::Method;
use http::request::Parts;

use super::done::Done;
use super::fields::{CSRF_FIELD, Fields};
use super::next;
use super::theme::Theme;
use hapax_admin::AdminState;
use hapax_admin::access::{Caller, Session, check_origin};
use hapax_admin::api_error::ApiError;

/// A signed-in viewer.
#[derive(Clone, Debug)]
pub(crate) struct Viewer {
    /// Who they are, what they may do, and which sources they see.
    pub caller: Caller,
    /// The CSRF token, which every form carries to prove that it is from one of their pages.
    pub csrf: String,
    /// Their colour theme.
    pub theme: Theme,
    /// The result of the form they have just sent.
    pub done: Option<Done>,
    /// Their session; `None` if sign-in is not required.
    pub session: Option<Session>,
}

impl Viewer {
    /// The viewer who sends this request; `None` if they must sign in first.
    pub(super) async fn find(state: &AdminState, parts: &Parts) -> Result<Option<Self>, ApiError> {
        let access = &state.settings.load_full().access;
        let theme = Theme::of(&parts.headers);
        let done = Done::of(parts.uri.query());
        if access.is_open() {
            access.check_host(&parts.headers)?;
            return Ok(Some(Self {
                caller: Caller::local(String::new()),
                csrf: state.gate.local_form_token(),
                theme,
                done,
                session: None,
            }));
        }
        let store = &**state.engine.store();
        let opened = state.gate.session(access, store, &parts.headers).await?;
        Ok(opened.map(|opened| Self {
            caller: opened.caller,
            csrf: opened.csrf,
            theme,
            done,
            session: Some(opened.session),
        }))
    }

    /// Whether they may send a form to this path.
    pub(crate) fn may_send(&self, action: &str) -> bool {
        self.caller.may(&Method::POST, action)
    }
}

impl FromRequestParts<AdminState> for Viewer {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &AdminState) -> Result<Self, Response> {
        // `wrap` has inserted the viewer.
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Redirect::to(&next::login(&parts.uri, &parts.method)).into_response())
    }
}

/// A viewer who sends one of our forms, and its fields.
pub(crate) struct Acting(pub Viewer, pub Fields);

impl FromRequest<AdminState> for Acting {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AdminState) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let viewer = Viewer::from_request_parts(&mut parts, state).await?;
        check_origin(&parts.headers).map_err(IntoResponse::into_response)?;
        let fields = Fields::from_request(Request::from_parts(parts, body), state)
            .await
            .map_err(IntoResponse::into_response)?;
        let given = fields.get(CSRF_FIELD).unwrap_or_default();
        match verify_slices_are_equal(given.as_bytes(), viewer.csrf.as_bytes()) {
            Ok(()) => Ok(Self(viewer, fields)),
            Err(_) => Err(ApiError::stale_form().into_response()),
        }
    }
}

//! Who looks at a page, and whether they may change something.
//!
//! [`Viewer`] opens a page: without a session it leads to the login. [`Changing`] opens a form's target: it also wants
//! the right to change things, and the proof that the form is ours. [`Acting`] is the same for what everybody may do.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Redirect, Response};
use http::request::Parts;

use super::done::Done;
use super::form::{CSRF_FIELD, Fields};
use super::next;
use super::theme::Theme;
use crate::http::admin::AdminState;
use crate::http::admin::access::{Role, Session, check_origin};
use crate::http::admin::fault::Fault;

/// Somebody who was let in.
#[derive(Clone, Debug)]
pub(in crate::http) struct Viewer {
    /// What they may do.
    pub(in crate::http) role: Role,
    /// What the audit trail calls them.
    pub(in crate::http) who: String,
    /// What every form carries, to prove that it is from a page of theirs.
    pub(in crate::http) csrf: String,
    /// How they want pages to look.
    pub(in crate::http) theme: Theme,
    /// What they have just done.
    pub(in crate::http) done: Option<Done>,
    /// Their session; none where nobody has to sign in.
    pub(in crate::http) session: Option<Session>,
}

impl Viewer {
    /// Who sends this request; none if they have to sign in first.
    pub(super) fn find(state: &AdminState, parts: &Parts) -> Result<Option<Self>, Fault> {
        let access = &state.settings.load().access;
        let theme = Theme::of(&parts.headers);
        let done = Done::of(parts.uri.query());
        if access.token.is_none() {
            access.check_host(&parts.headers)?;
            return Ok(Some(Self {
                role: Role::Admin,
                who: "local".to_owned(),
                csrf: state.gate.local_form_token(),
                theme,
                done,
                session: None,
            }));
        }
        let opened = state.gate.session(access, &parts.headers);
        Ok(opened.map(|opened| Self {
            role: opened.role,
            who: who(&opened.session.name),
            csrf: opened.csrf,
            theme,
            done,
            session: Some(opened.session),
        }))
    }

    /// Whether they may change something.
    pub(in crate::http) fn may_change(&self) -> bool {
        match self.role {
            Role::Admin => true,
            Role::ReadOnly => false,
        }
    }
}

fn who(name: &str) -> String {
    if name.is_empty() {
        return "dashboard".to_owned();
    }
    name.to_owned()
}

impl FromRequestParts<AdminState> for Viewer {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &AdminState) -> Result<Self, Response> {
        // `wrap` found them already.
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Redirect::to(&next::login(&parts.uri, &parts.method)).into_response())
    }
}

/// Somebody who may do what the form asks, and the form.
pub(in crate::http) struct Changing(pub(in crate::http) Viewer, pub(in crate::http) Fields);

impl FromRequest<AdminState> for Changing {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AdminState) -> Result<Self, Response> {
        let Acting(viewer, fields) = Acting::from_request(request, state).await?;
        if viewer.may_change() {
            return Ok(Self(viewer, fields));
        }
        Err(Fault::read_only().into_response())
    }
}

/// Somebody who sends a form of ours, whatever they may do.
pub(in crate::http) struct Acting(pub(in crate::http) Viewer, pub(in crate::http) Fields);

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
            Err(_) => Err(Fault::stale_form().into_response()),
        }
    }
}

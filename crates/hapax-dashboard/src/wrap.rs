//! The middleware around every page: identifies the viewer, and renders errors as pages.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use maud::{Markup, html};

use super::frame::{self, Here};
use super::prose::prose;
use super::viewer::Viewer;
use hapax_admin::AdminState;
use hapax_api::problem::Problem;

pub(super) async fn wrap(State(state): State<AdminState>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let viewer = match Viewer::find(&state, &parts).await {
        Ok(viewer) => viewer,
        // A foreign page uses a host name that is not ours, or the store cannot identify the viewer.
        Err(fault) => return in_words(None, fault.into_response()),
    };
    if let Some(viewer) = &viewer {
        if let Err(fault) = viewer.caller.check(&parts.method, parts.uri.path()) {
            return in_words(Some(viewer), fault.into_response());
        }
        parts.extensions.insert(viewer.caller.clone());
        parts.extensions.insert(viewer.clone());
    }
    let response = next.run(Request::from_parts(parts, body)).await;
    in_words(viewer.as_ref(), response)
}

fn in_words(viewer: Option<&Viewer>, response: Response) -> Response {
    let Some(problem) = response.extensions().get::<Problem>() else {
        return response;
    };
    let title = problem.code().title();
    let page = match viewer {
        Some(viewer) => frame::page(viewer, Here::None, title, explained(problem)),
        None => frame::bare(super::theme::Theme::Auto, title, &explained(problem)),
    };
    // The headers of the error, such as `Retry-After`, still apply.
    let (mut head, _) = response.into_parts();
    let (page_head, body) = page.into_parts();
    head.headers.remove(CONTENT_LENGTH);
    if let Some(kind) = page_head.headers.get(CONTENT_TYPE) {
        head.headers.insert(CONTENT_TYPE, kind.clone());
    }
    Response::from_parts(head, body)
}

fn explained(problem: &Problem) -> Markup {
    html! {
        div class="notice bad" role="alert" {
            p { (prose(problem.detail())) }
            p class="muted small" { "Status " (problem.status().as_u16()) ", code " a href={ "/docs/errors/" (problem.code()) ".html" } { code { (problem.code()) } } "." }
        }
        p { a href="/" { "Go to the overview" } }
    }
}

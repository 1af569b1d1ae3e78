//! `/docs/{path}`: the book of this version. Nothing in it is secret, so it is open to everyone who reaches the port: a
//! caller who was refused can read why.

use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, X_FRAME_OPTIONS,
};
use http::{HeaderMap, StatusCode};

use hapax_admin::api_error::ApiError;
use hapax_api::problem::Code;

/// `GET /docs`: the links of a page count from its folder.
pub(super) async fn folder() -> Redirect {
    Redirect::permanent("/docs/")
}

/// `GET /docs/`.
pub(super) async fn first(headers: HeaderMap) -> Response {
    answer("", &headers)
}

/// `GET /docs/{*path}`.
pub(super) async fn serve(Path(path): Path<String>, headers: HeaderMap) -> Response {
    answer(&path, &headers)
}

fn answer(path: &str, headers: &HeaderMap) -> Response {
    let Some(file) = hapax_docs::file(path) else {
        return ApiError::new(Code::UnknownPath, format!("there is no page `{path}`")).into_response();
    };
    let head = [
        (CACHE_CONTROL, "no-cache"),
        (ETAG, file.tag),
        (CONTENT_TYPE, file.media_type),
        (CONTENT_SECURITY_POLICY, hapax_docs::POLICY),
        (X_FRAME_OPTIONS, "SAMEORIGIN"),
    ];
    let is_known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == file.tag.as_bytes());
    if is_known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, file.bytes).into_response()
}

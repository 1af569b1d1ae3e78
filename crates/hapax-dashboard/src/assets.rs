//! `/assets/{name}`: the files that pages need, compiled in. A URL contains the file's hash, so that browsers can
//! cache it forever and still never show an old version.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode, Uri};

use hapax_admin::api_error::ApiError;
use hapax_api::problem::Code;

/// The style sheet.
pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("assets/hapax.css");
    Asset::new("hapax.css", "text/css; charset=utf-8", bytes)
});
/// The script.
pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("assets/hapax.js");
    Asset::new("hapax.js", "text/javascript; charset=utf-8", bytes)
});
/// The favicon.
pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon.svg", "image/svg+xml", include_bytes!("assets/icon.svg")));

/// A compiled-in file.
#[derive(Debug)]
pub(crate) struct Asset {
    name: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
    version: String,
}

impl Asset {
    fn new(name: &'static str, kind: &'static str, bytes: &'static [u8]) -> Self {
        let version = hex::encode(&digest(&SHA256, bytes).as_ref()[..8]);
        Self {
            name,
            kind,
            bytes,
            version,
        }
    }

    /// The URL with its version.
    pub(crate) fn url(&self) -> String {
        format!("/assets/{}?v={}", self.name, self.version)
    }
}

/// `GET /assets/{name}`.
pub(super) async fn serve(Path(name): Path<String>, uri: Uri, headers: HeaderMap) -> Response {
    let all: [&Asset; 3] = [&STYLE, &SCRIPT, &ICON];
    let Some(asset) = all.into_iter().find(|asset| asset.name == name) else {
        return ApiError::new(Code::UnknownPath, format!("there is no asset `{name}`")).into_response();
    };
    let tag = format!("\"{}\"", asset.version);
    let is_pinned = uri.query() == Some(&format!("v={}", asset.version));
    let keep = if is_pinned {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let head = [
        (CACHE_CONTROL, keep.to_owned()),
        (ETAG, tag.clone()),
        (CONTENT_TYPE, asset.kind.to_owned()),
    ];
    let is_known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    if is_known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, asset.bytes).into_response()
}

//! Headers on every answer of the admin port: what a browser may do with it.

use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue};

/// Scripts, styles and images come from this port alone, none of them inline; nothing else is loaded, and no page of
/// anyone else frames ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const FIXED: [(HeaderName, &str); 6] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    // Not `no-referrer`: with it, browsers hide the origin of our own forms from us, which we check.
    (REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    // Pages and answers hold what senders sent; only assets say that they may be kept.
    (CACHE_CONTROL, "no-store"),
];

/// Adds what the handler did not set itself.
pub(super) async fn strict(mut response: Response) -> Response {
    for (name, value) in FIXED {
        response
            .headers_mut()
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

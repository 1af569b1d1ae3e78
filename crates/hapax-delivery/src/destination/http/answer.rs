//! Classifies an HTTP response: succeeded, retry, or never retry.

use hapax_core::{Clock, ErrorClass};
use hapax_engine::{AttemptResult, Reply};
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use super::retry_after;

/// With the value `no`, a destination refuses an event for good.
const RETRY_HEADER: &str = "hapax-retry";

/// Classifies a response by its head; the excerpt is for people.
pub(super) fn judge(
    status: StatusCode,
    headers: &HeaderMap,
    excerpt: String,
    clock: &dyn Clock,
) -> AttemptResult {
    let reply = if status.is_success() {
        Reply::Done
    } else if refuses(status, headers) {
        let why = if status == StatusCode::GONE {
            "410 Gone"
        } else {
            "`hapax-retry: no`"
        };
        Reply::Refused {
            class: ErrorClass::Refused,
            message: format!(
                "the destination answered {} and refused this event permanently ({why})",
                status.as_u16()
            ),
        }
    } else {
        Reply::Failed {
            class: ErrorClass::Status,
            message: message(status),
            retry_after: wish(status, headers, clock),
        }
    };
    AttemptResult {
        reply,
        status: Some(i32::from(status.as_u16())),
        excerpt,
    }
}

fn refuses(status: StatusCode, headers: &HeaderMap) -> bool {
    let says_no = headers
        .get(RETRY_HEADER)
        .is_some_and(|value| value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"no"));
    status == StatusCode::GONE || says_no
}

fn wish(status: StatusCode, headers: &HeaderMap, clock: &dyn Clock) -> Option<std::time::Duration> {
    let may_ask = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    let value = headers.get(RETRY_AFTER).filter(|_| may_ask)?;
    retry_after::parse(value.to_str().ok()?, clock.now())
}

fn message(status: StatusCode) -> String {
    if status.is_redirection() {
        return format!(
            "the destination answered {}, and redirects are not followed: set `url` to the final URL",
            status.as_u16()
        );
    }
    match status.canonical_reason() {
        Some(reason) => format!("the destination answered {} {reason}", status.as_u16()),
        None => format!("the destination answered {}", status.as_u16()),
    }
}

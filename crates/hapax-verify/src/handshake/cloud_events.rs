//! The OPTIONS request with which a CloudEvents provider asks whether it may deliver, and how much.

use super::{Answered, answered, header_text, refused};
use crate::limits::{HANDSHAKE_DIGITS_MAX, HANDSHAKE_ECHO_BYTES_MAX};
use crate::options::Options;
use crate::request::Request;
use crate::verification::HandshakeAnswer;

const ORIGIN: &str = "webhook-request-origin";
const RATE: &str = "webhook-request-rate";

/// Grants the request of an allowed origin.
pub(super) fn answer(request: &Request<'_>, options: &Options) -> Answered {
    if request.method != "OPTIONS" {
        return None;
    }
    let origin = header_text(request, ORIGIN)?;
    let mut allowed = options.list("allowed_origins").iter();
    if allowed.any(|known| known == "*" || known.eq_ignore_ascii_case(origin)) {
        return grant(request);
    }
    Some(refused(
        "the provider's origin is not in the option `allowed_origins`; add it if the provider may deliver here",
    ))
}

/// Grants the request of any origin.
pub(super) fn grant(request: &Request<'_>) -> Answered {
    let origin = header_text(request, ORIGIN)?;
    if origin.is_empty() || origin.len() > HANDSHAKE_ECHO_BYTES_MAX {
        return Some(refused("its origin is empty or too long to be one"));
    }
    let mut headers = vec![
        ("webhook-allowed-origin".to_owned(), origin.to_owned()),
        ("allow".to_owned(), "POST".to_owned()),
    ];
    match header_text(request, RATE) {
        None => {}
        Some(rate) if is_rate(rate) => headers.push(("webhook-allowed-rate".to_owned(), rate.to_owned())),
        Some(_) => return Some(refused("the rate that it asks for is not a number")),
    }
    Some(Ok(answered(HandshakeAnswer {
        headers,
        ..HandshakeAnswer::empty()
    })))
}

fn is_rate(text: &str) -> bool {
    (1..=HANDSHAKE_DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

//! Meta's `hub.challenge`, proven by a token that was configured at Meta beforehand.

use aws_lc_rs::constant_time::verify_slices_are_equal;

use super::{Answered, echo, refused};
use crate::options::Options;
use crate::request::{Request, query_value};

pub(super) fn answer(request: &Request<'_>, options: &Options) -> Answered {
    let mode = query_value(request.query, "hub.mode");
    if request.method != "GET" || mode.as_deref() != Some("subscribe") {
        return None;
    }
    let Some(expected) = options.text("verify_token").filter(|token| !token.is_empty()) else {
        return Some(refused(
            "the option `verify_token` is not set; set it to the token that you entered at Meta",
        ));
    };
    let token = query_value(request.query, "hub.verify_token").unwrap_or_default();
    if verify_slices_are_equal(expected.as_bytes(), token.as_bytes()).is_err() {
        return Some(refused(
            "its verify token does not match the option `verify_token`",
        ));
    }
    let challenge = query_value(request.query, "hub.challenge").unwrap_or_default();
    Some(echo(challenge))
}

//! Dropbox's `challenge`: it cannot be verified, and is merely echoed.

use super::{Answered, echo};
use crate::request::{Request, query_value};

pub(super) fn answer(request: &Request<'_>) -> Answered {
    if request.method != "GET" {
        return None;
    }
    query_value(request.query, "challenge").map(echo)
}

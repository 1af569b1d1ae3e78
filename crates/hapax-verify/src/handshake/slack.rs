//! Slack's `url_verification`.

use serde::Deserialize;

use super::{Answered, echo, small_json};
use crate::request::Request;

#[derive(Deserialize)]
struct Challenge {
    r#type: String,
    challenge: String,
}

pub(super) fn answer(request: &Request<'_>) -> Answered {
    let body: Challenge = small_json(request)?;
    (body.r#type == "url_verification").then(|| echo(body.challenge))
}

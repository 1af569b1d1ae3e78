//! Twitch's `webhook_callback_verification`. A revocation is an ordinary event, so that someone learns of it.

use serde::Deserialize;

use super::{Answered, echo, header_text, small_json};
use crate::request::Request;

#[derive(Deserialize)]
struct ChallengeBody {
    challenge: String,
}

pub(super) fn answer(request: &Request<'_>) -> Answered {
    let kind = header_text(request, "twitch-eventsub-message-type")?;
    if kind != "webhook_callback_verification" {
        return None;
    }
    // The signature does not cover the header: without a challenge in the signed body, the request is an event.
    let body: ChallengeBody = small_json(request)?;
    Some(echo(body.challenge))
}

//! Discord's PING. Interactions and webhook events both have a `type`, but number it differently.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::{Answered, answered, small_json};
use crate::request::Request;
use crate::verification::HandshakeAnswer;

#[derive(Deserialize)]
struct Ping {
    r#type: u64,
    /// Present only in webhook events, where type 1 is an event and 0 the PING.
    event: Option<IgnoredAny>,
}

pub(super) fn answer(request: &Request<'_>) -> Answered {
    let body: Ping = small_json(request)?;
    match (body.r#type, body.event) {
        (0, None) => Some(Ok(answered(HandshakeAnswer {
            status: 204,
            ..HandshakeAnswer::empty()
        }))),
        (1, None) => Some(Ok(answered(HandshakeAnswer::json(&json!({ "type": 1 }))))),
        (_, _) => None,
    }
}

//! Zoom's `endpoint.url_validation`, which it repeats every 72 hours.

use aws_lc_rs::hmac;
use serde::Deserialize;
use serde_json::json;

use super::{Answered, answered, small_json};
use crate::request::Request;
use crate::verification::HandshakeAnswer;

#[derive(Deserialize)]
struct Validation {
    event: String,
    payload: Payload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    plain_token: String,
}

pub(super) fn answer(request: &Request<'_>, secret: &str) -> Answered {
    let body: Validation = small_json(request)?;
    if body.event != "endpoint.url_validation" {
        return None;
    }
    let plain = body.payload.plain_token;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let encrypted = hex::encode(hmac::sign(&key, plain.as_bytes()));
    let document = json!({ "plainToken": plain, "encryptedToken": encrypted });
    Some(Ok(answered(HandshakeAnswer::json(&document))))
}

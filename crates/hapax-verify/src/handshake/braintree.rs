//! Braintree's `bt_challenge`: the response proves knowledge of the private key.

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use aws_lc_rs::hmac;

use super::{Answered, Knowledge, answered, refused};
use crate::request::{Request, query_value};
use crate::verification::HandshakeAnswer;

/// The length of Braintree's challenges, in bytes.
const CHALLENGE_BYTES: std::ops::RangeInclusive<usize> = 20..=32;

/// Whether a text has the form of Braintree's challenges. Nothing else is signed on request, and nothing of this form
/// is accepted as a delivery: both are signed with the same key.
pub(crate) fn is_challenge(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    CHALLENGE_BYTES.contains(&text.len()) && text.bytes().all(is_hex)
}

pub(super) fn answer(request: &Request<'_>, knowledge: &Knowledge<'_>) -> Answered {
    if request.method != "GET" {
        return None;
    }
    let challenge = query_value(request.query, "bt_challenge")?;
    if !is_challenge(&challenge) {
        return Some(refused("its challenge is not 20 to 32 hexadecimal digits"));
    }
    let (Some(private_key), Some(public_key)) =
        (knowledge.secrets.first(), knowledge.options.text("public_key"))
    else {
        return Some(refused(
            "the option `public_key` or the secret is not set; set both to Braintree's API keys",
        ));
    };
    let derived = digest(&SHA1_FOR_LEGACY_USE_ONLY, private_key.as_bytes());
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, derived.as_ref());
    let tag = hex::encode(hmac::sign(&key, challenge.as_bytes()));
    Some(Ok(answered(HandshakeAnswer::text(format!("{public_key}|{tag}")))))
}

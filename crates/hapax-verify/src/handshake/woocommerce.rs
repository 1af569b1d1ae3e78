//! WooCommerce's ping when a webhook is saved: an unsigned form with the webhook's number, which expects status 200.

use super::{Answered, answered};
use crate::limits::HANDSHAKE_DIGITS_MAX;
use crate::request::Request;
use crate::verification::HandshakeAnswer;

pub(super) fn answer(request: &Request<'_>) -> Answered {
    let is_signed = request.headers.get("x-wc-webhook-signature").is_some();
    let number = request.body.strip_prefix(b"webhook_id=")?;
    let is_number =
        (1..=HANDSHAKE_DIGITS_MAX).contains(&number.len()) && number.iter().all(u8::is_ascii_digit);
    let is_ping = request.method == "POST" && !is_signed && is_number;
    is_ping.then(|| Ok(answered(HandshakeAnswer::empty())))
}

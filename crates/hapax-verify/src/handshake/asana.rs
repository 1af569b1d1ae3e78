//! Asana sends the secret that it will sign with in the first request of a new webhook.
//!
//! Anyone could send such a request; see [`Verification::Registration`].

use super::{Answered, refused};
use crate::limits::HANDED_OVER_SECRET_BYTES_MAX;
use crate::request::Request;
use crate::verification::{HandshakeAnswer, Registration, Verification};

const SECRET: &str = "x-hook-secret";

pub(super) fn answer(request: &Request<'_>) -> Answered {
    let is_signed = request.headers.get("x-hook-signature").is_some();
    if request.method != "POST" || is_signed {
        return None;
    }
    let value = request.headers.get(SECRET)?;
    let usable =
        (1..=HANDED_OVER_SECRET_BYTES_MAX).contains(&value.len()) && value.iter().all(u8::is_ascii_graphic);
    let Some(secret) = std::str::from_utf8(value).ok().filter(|_| usable) else {
        return Some(refused(
            "the secret that it sends is not plain text, or is too long",
        ));
    };
    Some(Ok(Verification::Registration(Registration {
        secret: secret.to_owned(),
        answer: HandshakeAnswer {
            headers: vec![(SECRET.to_owned(), secret.to_owned())],
            ..HandshakeAnswer::empty()
        },
    })))
}

//! Why a request is not an event, and what is answered to it.

use std::sync::Arc;
use std::time::Duration;

use axum_core::response::{IntoResponse, Response};
use hapax_verify::{AnswerRule, HandshakeAnswer, Rejection};
use http::{HeaderName, HeaderValue, StatusCode};

use super::insisted;
use crate::answer::Answer;
use crate::error::Invalid;

/// A request that carries no event to handle. As a response it is what the sender should see.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It is not proven who sent it, or it cannot be identified.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The same, from a sender that insists on how it is answered.
    #[error("{rejection}")]
    Insisted {
        /// Why it is refused.
        rejection: Rejection,
        /// How the sender wants to be told.
        answer: Arc<AnswerRule>,
    },
    /// The id is proven, and cannot be used.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The signature names a key that is not at hand.
    #[error("the signature names a key that is not known here")]
    KeyUnknown,
    /// The body is too large.
    #[error(
        "the body is longer than {bytes_max} bytes; raise the source's body_limit if its events are this large"
    )]
    TooLarge {
        /// The source's limit.
        bytes_max: usize,
    },
    /// The body took too long.
    #[error("the body was not complete after {} s; nothing was kept", .0.as_secs())]
    TooSlow(Duration),
    /// The body ended early.
    #[error("the connection broke before the body was whole; nothing was kept")]
    Incomplete,
    /// A request with no event or with several, where one was expected.
    #[error("the request carries {0} events and this route takes one; use `Webhooks`, or the layer")]
    NotOne(usize),
    /// The sender wants to see an answer before it delivers: no failure at all.
    #[error("a handshake, which is answered and not handled")]
    Handshake(HandshakeAnswer),
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code, title) = match &self {
            Self::Rejected(rejection) => (rejection.status(), rejection.code(), rejection.title()),
            Self::Insisted { rejection, answer } => {
                let refused = Self::Rejected(rejection.clone()).into_response();
                return insisted::refused(refused, answer);
            }
            Self::Invalid(_) => (400, "event_id_missing", "Event id not usable"),
            Self::KeyUnknown => (401, "signature_invalid", "Signature invalid"),
            Self::TooLarge { .. } => (413, "body_too_large", "Body too large"),
            Self::TooSlow(_) => (408, "body_timeout", "Body too slow"),
            Self::Incomplete => (400, "body_incomplete", "Body incomplete"),
            // A body that was empty on purpose is not the sender's mistake.
            Self::NotOne(_) => (500, "several_events", "Several events"),
            Self::Handshake(answer) => return handshake(answer),
        };
        Answer::problem(status, code, title, &self.to_string()).into_response()
    }
}

fn handshake(answer: &HandshakeAnswer) -> Response {
    let mut response = answer.body.clone().into_response();
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &answer.headers {
        // What the catalogue names is valid; anything else would not be a header.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

//! Why a request is not an event, and the response to it.

use std::sync::Arc;
use std::time::Duration;

use axum_core::response::{IntoResponse, Response};
use hapax_verify::{AnswerRule, HandshakeAnswer, Rejection};
use http::{HeaderName, HeaderValue, StatusCode};

use super::insisted;
use crate::answer::{Answer, Code, code_of};
use crate::error::Invalid;

/// A request without an event to handle. It converts to the response for the provider.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The request could not be verified or identified.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The same, for a provider that requires a specific form of response.
    #[error("{rejection}")]
    Insisted {
        /// Why the request is refused.
        rejection: Rejection,
        /// The form of response that the provider requires.
        answer: Arc<AnswerRule>,
    },
    /// The id was verified but is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The signature names an unknown key.
    #[error("the signature names an unknown key")]
    KeyUnknown,
    /// The body exceeds the source's limit.
    #[error(
        "the body is longer than {bytes_max} bytes; raise the source's body_limit if its events are this large"
    )]
    TooLarge {
        /// The source's limit, in bytes.
        bytes_max: usize,
    },
    /// The body took too long to arrive.
    #[error("the body was not complete after {} s; nothing was stored", .0.as_secs())]
    TooSlow(Duration),
    /// The connection closed before the body was complete.
    #[error("the connection closed before the body was complete; nothing was stored")]
    Incomplete,
    /// The request contained no event, or several, where one was expected.
    #[error("the request contains {0} events, and this route accepts one; use `Webhooks` or the layer")]
    NotOne(usize),
    /// A handshake: the provider expects a response before it delivers events. Not a failure.
    #[error("the request is a handshake: it is answered, not handled")]
    Handshake(HandshakeAnswer),
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let code = match &self {
            Self::Rejected(rejection) => code_of(rejection),
            Self::Insisted { rejection, answer } => {
                let refused = Self::Rejected(rejection.clone()).into_response();
                return insisted::refused(refused, answer);
            }
            Self::Invalid(_) => Code::EventIdMissing,
            Self::KeyUnknown => Code::SignatureInvalid,
            Self::TooLarge { .. } => Code::BodyTooLarge,
            Self::TooSlow(_) => Code::BodyTimeout,
            Self::Incomplete => Code::BodyIncomplete,
            // An empty batch is not the provider's mistake.
            Self::NotOne(_) => Code::SeveralEvents,
            Self::Handshake(answer) => return handshake(answer),
        };
        Answer::problem(code, &self.to_string()).into_response()
    }
}

fn handshake(answer: &HandshakeAnswer) -> Response {
    let mut response = answer.body.clone().into_response();
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &answer.headers {
        // Names and values from the catalogue are valid; anything else would not be a header.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

//! Why a request is not an event, and the response to it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hapax_verify::{AnswerRule, Confirmation, HandshakeAnswer, KeyRequest, Rejection};

use super::insisted;
use crate::answer::{Answer, Code, KEY_RETRY_AFTER, code_of};
use crate::error::Invalid;

/// A request without an event to handle: the reason, and the response in the form that the provider requires.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Why there is no event.
    pub reason: Reason,
    pub(super) rule: Arc<AnswerRule>,
}

/// Why a request is not an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The request could not be verified or identified.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The id was verified but is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A delivery of the gateway whose `idempotency-key` is not its signed `webhook-id`.
    #[error(
        "the `idempotency-key` is not the signed `webhook-id`, so the request was changed on its way from Hapax; check \
         what is in between"
    )]
    KeysDiffer,
    /// The signature can be verified only with a key that must be fetched first.
    #[error(
        "the signature was made with the key `{}`, which this source does not have; fetch it from {} and pass it in \
         `keys`, or receive this provider through the Hapax gateway, which fetches keys",
        .0.key_id, .0.url
    )]
    NeedsKey(Box<KeyRequest>),
    /// The provider sends the secret that it will sign with, which has to be stored.
    #[error(
        "the provider sends the secret that it will sign with, and a library has nowhere to keep it; receive this \
         provider through the Hapax gateway, or register once there and put the secret in `secrets`"
    )]
    Registration,
    /// A URL of the provider must be called before it delivers events.
    #[error(
        "the provider asks to confirm the subscription by calling {}; open that URL once, or receive this provider \
         through the Hapax gateway, which calls it",
        .0.url
    )]
    Confirmation(Box<Confirmation>),
    /// The provider does not deliver with this method.
    #[error("this provider delivers with POST; {0} is accepted only for its handshakes")]
    Method(String),
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

impl Refused {
    /// The problem code of the response; `None` for a handshake, which is not a failure.
    pub fn code(&self) -> Option<Code> {
        self.reason.code().err()
    }

    /// The response to the request.
    pub fn answer(&self) -> Answer {
        match self.reason.code() {
            Ok(handshake) => handshake.clone().into(),
            Err(code) => {
                let problem = Answer::problem(code, &self.reason.to_string());
                insisted::refused(later(problem, code), &self.rule)
            }
        }
    }
}

impl Reason {
    /// The problem code, or the response to a handshake.
    fn code(&self) -> Result<&HandshakeAnswer, Code> {
        Err(match self {
            Self::Rejected(rejection) => code_of(rejection),
            Self::Invalid(_) => Code::EventIdMissing,
            Self::KeysDiffer => Code::SignatureInvalid,
            Self::NeedsKey(_) => Code::KeyUnavailable,
            Self::Registration => Code::HandshakeRefused,
            Self::Confirmation(_) => Code::ConfirmationFailed,
            Self::Method(_) => Code::MethodNotAllowed,
            Self::TooLarge { .. } => Code::BodyTooLarge,
            Self::TooSlow(_) => Code::BodyTimeout,
            Self::Incomplete => Code::BodyIncomplete,
            // An empty batch is not the provider's mistake.
            Self::NotOne(_) => Code::SeveralEvents,
            Self::Handshake(answer) => return Ok(answer),
        })
    }
}

/// Says when to retry, and with which method.
fn later(mut problem: Answer, code: Code) -> Answer {
    match code {
        Code::KeyUnavailable | Code::ConfirmationFailed => problem.after(KEY_RETRY_AFTER),
        Code::MethodNotAllowed => {
            problem.headers.push(("allow".to_owned(), "POST".to_owned()));
            problem
        }
        _ => problem,
    }
}

impl From<HandshakeAnswer> for Answer {
    fn from(answer: HandshakeAnswer) -> Self {
        Self {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(formatter)
    }
}

impl std::error::Error for Refused {}

//! Why a request was refused: a stable code for programs, and for people what happened, why, and what to do.
//!
//! No rejection ever contains a secret or the expected signature.

use crate::encoding::Encoding;
use crate::limits::{SIGNATURE_HEADER_BYTES_MAX, SIGNATURES_MAX};

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A header that is required to verify the signature is missing.
    #[error(
        "no signature: the request has no `{header}` header, so nothing proves who sent it; check that the provider has \
         signing enabled and that no proxy removes the header"
    )]
    SignatureMissing {
        /// The missing header.
        header: String,
    },
    /// The body should contain the signature but does not.
    #[error(
        "no signature: the body has nothing at `{place}`, so nothing proves who sent it; check that the provider has \
         signing enabled and that the request is one of this provider's"
    )]
    SignatureNotInBody {
        /// The location inside the body that was checked.
        place: String,
    },
    /// There is a signature, but it is not valid.
    #[error("the signature in `{header}` is not valid: {problem}")]
    SignatureInvalid {
        /// The header that holds the signature.
        header: String,
        /// What is wrong with it.
        problem: SignatureProblem,
    },
    /// The signature is valid, but its timestamp is too old or in the future.
    #[error("{}", timestamp_message(*.signed_at, *.received_at, *.tolerance_seconds))]
    TimestampOutOfRange {
        /// The signed time in Unix seconds; `None` if it is not a number.
        signed_at: Option<i64>,
        /// When the request arrived, in Unix seconds.
        received_at: i64,
        /// The maximum difference, in both directions.
        tolerance_seconds: u32,
    },
    /// The event has no id where the rule expects it.
    #[error(
        "no event id at {looked_in}: without the provider's own id, duplicates cannot be detected; check that the \
         provider sends it, or set another location with `event_id`"
    )]
    EventIdMissing {
        /// The locations that were checked.
        looked_in: String,
    },
    /// There is an id, but it is not usable.
    #[error(
        "the event id at {path} cannot be used: {problem}; the provider must send an id that is plain text"
    )]
    EventIdInvalid {
        /// The location of the id.
        path: String,
        /// What is wrong with it.
        problem: IdProblem,
    },
    /// The key that the signature names cannot be the provider's.
    #[error("the signature names a key that is not the provider's: {problem}")]
    KeyRefused {
        /// What is wrong with it.
        problem: String,
    },
    /// The request is verified but not meant for this source.
    #[error("the request is genuine, but not for this source: {problem}")]
    NotForUs {
        /// What is wrong with it.
        problem: String,
    },
    /// A handshake that could not be verified.
    #[error("the handshake is refused: {problem}")]
    HandshakeRefused {
        /// What is wrong with it.
        problem: String,
    },
    /// The id is inside the body, and the body is not JSON.
    #[error(
        "the body is not readable as JSON ({detail}), and the event id is inside it, at {looked_in}; check what the \
         provider sends, or set another location with `event_id`"
    )]
    MalformedBody {
        /// The locations that were checked.
        looked_in: String,
        /// The parser's message, with line and column.
        detail: String,
    },
}

/// What is wrong with a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// It was made with another secret, or over different bytes.
    #[error(
        "it matches none of the secrets; either it was made with another secret or the body was changed in transit \
         (re-serialised JSON, a rewriting proxy)"
    )]
    Mismatch,
    /// The header has no entry of a version for which a secret is configured.
    #[error(
        "the header contains no signature of a version that a configured secret can check; check which kind of secret the \
         provider uses"
    )]
    NoKnownVersion,
    /// The prefix that the scheme requires is missing.
    #[error("it does not begin with the prefix of this scheme; check which scheme the provider uses")]
    PrefixMissing,
    /// The text is not in the scheme's encoding, or has the wrong length.
    #[error(
        "it is not a complete signature in {0}; check the encoding, and that nothing truncates the header"
    )]
    NotDecodable(Encoding),
    /// More signatures than any provider needs.
    #[error("the header contains more than {SIGNATURES_MAX} signatures, and none was checked")]
    TooMany,
    /// A header longer than any provider needs.
    #[error("the header is longer than {SIGNATURE_HEADER_BYTES_MAX} bytes, and was not read")]
    HeaderTooLong,
    /// The signature covers a timestamp, but the header has none.
    #[error("the header contains no timestamp, but the signature covers one")]
    TimestampMissing,
    /// The signature covers the public URL, which is not configured.
    #[error("it covers the public URL, which is not configured; set `public_url`")]
    UrlUnknown,
    /// No secret is configured.
    #[error("there is no secret to check it with; add the provider's to `secrets`")]
    NoSecret,
    /// A shared token is not one of the secrets.
    #[error("the token matches none of the secrets; check that both sides have the same one")]
    TokenMismatch,
    /// A mismatch, for a proof that does not sign the body.
    #[error(
        "it matches none of the secrets; check that both sides have the same one, or the two halves of one key"
    )]
    SecretMismatch,
    /// A mismatch, for a proof that also signs the URL.
    #[error(
        "it matches none of the secrets; check the secret, and that the configured URL is exactly the one that the \
         provider calls"
    )]
    UrlMismatch,
    /// The signed content contains the hash of a different body.
    #[error(
        "it covers the hash of another body; the body was changed in transit (re-serialised JSON, a rewriting proxy)"
    )]
    BodyMismatch,
    /// It does not have the form that the provider documents.
    #[error("it cannot be read; check that nothing changes it in transit, and that it is this provider's")]
    Unreadable,
    /// It was made in a way that is not accepted.
    #[error("it was made in a way that is not accepted: {0}")]
    Refused(&'static str),
    /// The provider was asked, and states that it did not make it.
    #[error("the provider was asked and says that it did not make the signature")]
    Disowned,
    /// A signed value contains the separator that follows it, so one signature would be valid for two requests.
    #[error(
        "a signed value contains the separator that follows it, or does not have a form that shows where it ends, so \
         the same signature would be valid for another request; the provider must use ids without the separator"
    )]
    Ambiguous,
}

/// What is wrong with an event id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdProblem {
    /// It is present but empty.
    #[error("it is empty")]
    Empty,
    /// It contains a NUL character.
    #[error("it contains a NUL character")]
    Nul,
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
}

impl Rejection {
    /// The stable code of the problem document.
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::SignatureMissing { .. } | Rejection::SignatureNotInBody { .. } => "signature_missing",
            Rejection::SignatureInvalid { .. }
            | Rejection::KeyRefused { .. }
            | Rejection::NotForUs { .. } => "signature_invalid",
            Rejection::TimestampOutOfRange { .. } => "timestamp_out_of_range",
            Rejection::HandshakeRefused { .. } => "handshake_refused",
            Rejection::EventIdMissing { .. } | Rejection::EventIdInvalid { .. } => "event_id_missing",
            Rejection::MalformedBody { .. } => "malformed_body",
        }
    }

    /// The HTTP status: 401 if the request is not verified, 400 if it is verified but not usable.
    pub fn status(&self) -> u16 {
        match self {
            Rejection::SignatureMissing { .. }
            | Rejection::SignatureNotInBody { .. }
            | Rejection::SignatureInvalid { .. }
            | Rejection::TimestampOutOfRange { .. }
            | Rejection::KeyRefused { .. }
            | Rejection::NotForUs { .. } => 401,
            Rejection::HandshakeRefused { .. } => 403,
            Rejection::EventIdMissing { .. }
            | Rejection::EventIdInvalid { .. }
            | Rejection::MalformedBody { .. } => 400,
        }
    }
}

fn timestamp_message(signed_at: Option<i64>, received_at: i64, tolerance_seconds: u32) -> String {
    let Some(signed_at) = signed_at else {
        return "the signed timestamp is missing or not in the provider's format, so its age is unknown; check what the \
                provider sends"
            .to_owned();
    };
    let distance = received_at.abs_diff(signed_at);
    let direction = if signed_at > received_at {
        "ahead of"
    } else {
        "behind"
    };
    format!(
        "the signature is valid, but its timestamp {signed_at} is {distance} s {direction} the local clock ({received_at}) \
         and only {tolerance_seconds} s are allowed; a request delayed this long is refused, so check both clocks, or have \
         the provider deliver it again with a fresh signature"
    )
}

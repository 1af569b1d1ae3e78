//! Responses to webhooks: the one place where outcomes become statuses and bodies.
//!
//! Independent of any web framework: a status, headers and a body. Only 2xx means that the event is safe; after any other
//! status the provider retries.

#[cfg(feature = "verify")]
use hapax_verify::Rejection;
use serde_json::json;

use crate::inbox::{Outcome, RunError};

pub use hapax_core::problem::Code;

/// When a provider should retry, in seconds: soon, because the obstacle is short-lived.
const RETRY_AFTER: &str = "1";
/// When a provider should retry if a key has to be fetched first.
#[cfg(feature = "verify")]
pub(crate) const KEY_RETRY_AFTER: &str = "5";

pub(crate) const CONTENT_TYPE: &str = "content-type";
const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

/// The response to a delivery.
///
/// ```
/// use hapax::Outcome;
/// use hapax::answer::Answer;
///
/// let answer = Answer::of_outcome(&Outcome::<()>::Duplicate, "evt_1");
/// assert_eq!(answer.status, 200);
/// assert_eq!(answer.body, br#"{"event_id":"evt_1","status":"duplicate"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The response body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The response for an outcome. A duplicate of a finished event is a success; a duplicate of one in flight is not,
    /// because the other transaction may still roll back.
    pub fn of_outcome<T>(outcome: &Outcome<T>, event_id: &str) -> Self {
        match outcome {
            Outcome::Processed(_) | Outcome::Duplicate | Outcome::Conflict => {
                Self::ok(&json!({"status": outcome.word(), "event_id": event_id}))
            }
            Outcome::InFlight => Self::problem(
                Code::InFlight,
                "another delivery of this event is being handled; retry to learn the result",
            )
            .after(RETRY_AFTER),
        }
    }

    /// The response for a request with several events, all of them finished.
    pub fn of_batch<T>(events: &[(Outcome<T>, String)]) -> Self {
        if events.is_empty() {
            return Self::ok(&json!({"status": "empty"}));
        }
        let count = |wanted: &str| {
            events
                .iter()
                .filter(|(outcome, _)| outcome.word() == wanted)
                .count()
        };
        let list: Vec<_> = events
            .iter()
            .map(|(outcome, id)| json!({"status": outcome.word(), "event_id": id}))
            .collect();
        let body = json!({
            "status": "batch",
            "accepted": count("accepted"),
            "duplicate": count("duplicate"),
            "conflict": count("conflict"),
            "events": list,
        });
        Self::ok(&body)
    }

    /// The response for a run without an outcome. The cause belongs in the log and is not revealed to the client.
    pub fn of_error<E>(error: &RunError<E>) -> Self {
        match error {
            RunError::Handler(_) | RunError::Broken(_) => Self::handler_failed(),
            RunError::Database(error) | RunError::Unknown(error) => {
                if error.is_retryable() {
                    Self::unavailable()
                } else {
                    Self::handler_failed()
                }
            }
        }
    }

    /// The response after the handler failed; nothing was written.
    pub fn handler_failed() -> Self {
        Self::problem(
            Code::HandlerFailed,
            "the event could not be handled, and nothing was written; deliver it again",
        )
    }

    /// The response while the database is unavailable.
    pub fn unavailable() -> Self {
        Self::problem(
            Code::StoreUnavailable,
            "the database cannot write now, and the event may not be stored; deliver it again",
        )
        .after(RETRY_AFTER)
    }

    /// A problem document (RFC 9457) with its stable code.
    pub fn problem(code: Code, detail: &str) -> Self {
        Self::new(code.status(), PROBLEM, code.document(detail))
    }

    fn ok(body: &serde_json::Value) -> Self {
        Self::new(200, JSON, body.to_string())
    }

    fn new(status: u16, content_type: &str, body: String) -> Self {
        Self {
            status,
            headers: vec![(CONTENT_TYPE.to_owned(), content_type.to_owned())],
            body: body.into_bytes(),
        }
    }

    /// Tells the provider to retry after this many seconds.
    pub(crate) fn after(mut self, seconds: &str) -> Self {
        self.headers.push(("retry-after".to_owned(), seconds.to_owned()));
        self
    }
}

/// The problem that a refused request is answered with.
#[cfg(feature = "verify")]
pub const fn code_of(rejection: &Rejection) -> Code {
    match rejection {
        Rejection::SignatureMissing { .. } | Rejection::SignatureNotInBody { .. } => Code::SignatureMissing,
        Rejection::SignatureInvalid { .. } | Rejection::KeyRefused { .. } | Rejection::NotForUs { .. } => {
            Code::SignatureInvalid
        }
        Rejection::TimestampOutOfRange { .. } => Code::TimestampOutOfRange,
        Rejection::HandshakeRefused { .. } => Code::HandshakeRefused,
        Rejection::EventIdMissing { .. } | Rejection::EventIdInvalid { .. } => Code::EventIdMissing,
        Rejection::MalformedBody { .. } => Code::MalformedBody,
    }
}

impl<T> Outcome<T> {
    /// The outcome's name in every response of Hapax.
    const fn word(&self) -> &'static str {
        match self {
            Self::Processed(_) => "accepted",
            Self::Duplicate => "duplicate",
            Self::Conflict => "conflict",
            Self::InFlight => Code::InFlight.as_str(),
        }
    }
}

#[cfg(test)]
mod tests {
    use hapax_verify::{IdProblem, SignatureProblem};

    use super::*;
    use crate::{DatabaseError, Trouble};

    fn database(trouble: Trouble) -> DatabaseError {
        DatabaseError {
            trouble,
            source: "secret detail".into(),
        }
    }

    #[test]
    fn only_what_is_safe_is_answered_with_success() {
        let status = |outcome: Outcome<()>| Answer::of_outcome(&outcome, "evt_1").status;
        assert_eq!(status(Outcome::Processed(())), 200);
        assert_eq!(status(Outcome::Duplicate), 200);
        assert_eq!(status(Outcome::Conflict), 200);
        assert_eq!(status(Outcome::InFlight), 503);
    }

    #[test]
    fn errors_make_the_sender_come_again_and_tell_it_no_detail() {
        for (error, status, code) in [
            (RunError::Handler("secret detail"), 500, Code::HandlerFailed),
            (
                RunError::Broken(database(Trouble::Refused)),
                500,
                Code::HandlerFailed,
            ),
            (
                RunError::Database(database(Trouble::Refused)),
                500,
                Code::HandlerFailed,
            ),
            (
                RunError::Database(database(Trouble::Unavailable)),
                503,
                Code::StoreUnavailable,
            ),
            (
                RunError::Unknown(database(Trouble::Unavailable)),
                503,
                Code::StoreUnavailable,
            ),
        ] {
            let answer = Answer::of_error(&error);
            assert_eq!(answer.status, status);
            let body = String::from_utf8(answer.body).unwrap();
            assert!(body.contains(code.as_str()) && !body.contains("secret"), "{body}");
        }
    }

    #[test]
    fn a_refused_request_has_the_code_and_status_that_the_verifier_names() {
        let text = || "x".to_owned();
        for rejection in [
            Rejection::SignatureMissing { header: text() },
            Rejection::SignatureNotInBody { place: text() },
            Rejection::SignatureInvalid {
                header: text(),
                problem: SignatureProblem::Mismatch,
            },
            Rejection::TimestampOutOfRange {
                signed_at: None,
                received_at: 0,
                tolerance_seconds: 1,
            },
            Rejection::EventIdMissing { looked_in: text() },
            Rejection::EventIdInvalid {
                path: text(),
                problem: IdProblem::Empty,
            },
            Rejection::KeyRefused { problem: text() },
            Rejection::NotForUs { problem: text() },
            Rejection::HandshakeRefused { problem: text() },
            Rejection::MalformedBody {
                looked_in: text(),
                detail: text(),
            },
        ] {
            let code = code_of(&rejection);
            assert_eq!(
                (code.as_str(), code.status()),
                (rejection.code(), rejection.status())
            );
        }
    }

    #[test]
    fn a_batch_counts_its_outcomes_and_lists_them() {
        let events = [
            (Outcome::Processed(()), "a".to_owned()),
            (Outcome::Duplicate, "b".to_owned()),
        ];
        let body: serde_json::Value = serde_json::from_slice(&Answer::of_batch(&events).body).unwrap();
        assert_eq!(
            (&body["status"], &body["accepted"], &body["duplicate"]),
            (&json!("batch"), &json!(1), &json!(1))
        );
        assert_eq!(body["events"][1], json!({"status": "duplicate", "event_id": "b"}));
        assert_eq!(Answer::of_batch::<()>(&[]).body, br#"{"status":"empty"}"#);
    }
}

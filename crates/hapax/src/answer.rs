//! Responses to webhooks: the one place where outcomes become statuses and bodies.
//!
//! Independent of any web framework: a status, a body and an optional `Retry-After`. Only 2xx means that the event is
//! safe; after any other status the provider retries.

use std::time::Duration;

use serde_json::json;

use crate::error::RunError;
use crate::inbox::Outcome;

/// When a provider should retry: soon, because the obstacle is short-lived.
const RETRY_AFTER: Duration = Duration::from_secs(1);

const JSON: &str = "application/json";
const PROBLEM: &str = "application/problem+json";

/// The stable part of a problem: the status, the code and the title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The HTTP status.
    pub status: u16,
    /// The code, which has its own documentation page.
    pub code: &'static str,
    /// The title, the same for every occurrence.
    pub title: &'static str,
}

/// The event is being handled; whether that succeeds is not known yet.
pub const IN_FLIGHT: Kind = Kind {
    status: 503,
    code: "in_flight",
    title: "Still in flight",
};

/// The handler failed.
pub const HANDLER_FAILED: Kind = Kind {
    status: 500,
    code: "handler_failed",
    title: "Handler failed",
};

/// The database is unavailable.
pub const STORE_UNAVAILABLE: Kind = Kind {
    status: 503,
    code: "store_unavailable",
    title: "Store unavailable",
};

/// The response to a delivery.
///
/// ```
/// use hapax::Outcome;
/// use hapax::answer::Answer;
///
/// let answer = Answer::of_outcome(&Outcome::<()>::Duplicate, "evt_1");
/// assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"event_id":"evt_1","status":"duplicate"}"#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The media type of the body.
    pub content_type: &'static str,
    /// The body, as JSON.
    pub body: String,
    /// How long the provider should wait before it retries.
    pub retry_after: Option<Duration>,
}

impl Answer {
    /// The response for an outcome. A duplicate of a finished event is a success; a duplicate of one in flight is not,
    /// because the other transaction may still roll back.
    pub fn of_outcome<T>(outcome: &Outcome<T>, event_id: &str) -> Self {
        match outcome {
            Outcome::Processed(_) | Outcome::Duplicate | Outcome::Conflict => {
                Self::ok(&json!({"status": outcome.word(), "event_id": event_id}))
            }
            Outcome::InFlight => Self::of_kind(
                IN_FLIGHT,
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
        Self::of_kind(
            HANDLER_FAILED,
            "the event could not be handled, and nothing was written; deliver it again",
        )
    }

    /// The response while the database is unavailable.
    pub fn unavailable() -> Self {
        Self::of_kind(
            STORE_UNAVAILABLE,
            "the database cannot write now, and the event may not be stored; deliver it again",
        )
        .after(RETRY_AFTER)
    }

    fn of_kind(kind: Kind, detail: &str) -> Self {
        Self::problem(kind.status, kind.code, kind.title, detail)
    }

    /// A problem document (RFC 9457) with its stable code.
    pub fn problem(status: u16, code: &str, title: &str, detail: &str) -> Self {
        let document = json!({
            "type": format!("urn:hapax:problem:{code}"),
            "title": title,
            "status": status,
            "detail": detail,
            "code": code,
            "explain": format!("hapax explain {code}"),
        });
        Self {
            status,
            content_type: PROBLEM,
            body: document.to_string(),
            retry_after: None,
        }
    }

    fn ok(body: &serde_json::Value) -> Self {
        Self {
            status: 200,
            content_type: JSON,
            body: body.to_string(),
            retry_after: None,
        }
    }

    const fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

impl<T> Outcome<T> {
    /// The outcome's name in every response of Hapax.
    const fn word(&self) -> &'static str {
        match self {
            Self::Processed(_) => "accepted",
            Self::Duplicate => "duplicate",
            Self::Conflict => "conflict",
            Self::InFlight => "in_flight",
        }
    }
}

#[cfg(test)]
mod tests {
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
            (RunError::Handler("secret detail"), 500, "handler_failed"),
            (
                RunError::Broken(database(Trouble::Refused)),
                500,
                "handler_failed",
            ),
            (
                RunError::Database(database(Trouble::Refused)),
                500,
                "handler_failed",
            ),
            (
                RunError::Database(database(Trouble::Unavailable)),
                503,
                "store_unavailable",
            ),
            (
                RunError::Unknown(database(Trouble::Unavailable)),
                503,
                "store_unavailable",
            ),
        ] {
            let answer = Answer::of_error(&error);
            assert_eq!(answer.status, status);
            assert!(
                answer.body.contains(code) && !answer.body.contains("secret"),
                "{}",
                answer.body
            );
        }
    }

    #[test]
    fn a_batch_counts_its_outcomes_and_lists_them() {
        let events = [
            (Outcome::Processed(()), "a".to_owned()),
            (Outcome::Duplicate, "b".to_owned()),
        ];
        let body: serde_json::Value = serde_json::from_str(&Answer::of_batch(&events).body).unwrap();
        assert_eq!(
            (&body["status"], &body["accepted"], &body["duplicate"]),
            (&json!("batch"), &json!(1), &json!(1))
        );
        assert_eq!(body["events"][1], json!({"status": "duplicate", "event_id": "b"}));
        assert_eq!(Answer::of_batch::<()>(&[]).body, r#"{"status":"empty"}"#);
    }
}

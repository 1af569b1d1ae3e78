//! Maps refusals to problem documents: the only place where the ingest port chooses its error codes.

use std::net::IpAddr;
use std::time::Duration;

use hapax::answer::code_of;
use hapax_engine::Refusal;
use hapax_verify::Rejection;

use super::body::BodyError;
use crate::handover::NotTaken;
use hapax_api::problem::{Code, Problem};

/// The methods of `/in/<source>`.
const METHODS: &str = "POST";
/// When to retry while deliveries are still in progress.
const IN_FLIGHT_RETRY: Duration = Duration::from_secs(2);
/// When to retry after a key could not be fetched.
const KEY_RETRY: Duration = Duration::from_secs(5);
/// Characters of a client's input that a response repeats.
const ECHO_CHARS_MAX: usize = 100;

pub(super) fn unknown_path(path: &str) -> Problem {
    Problem::new(
        Code::NotFound,
        format!(
            "there is nothing at `{}` on this port; send webhooks to /in/<source>",
            shortened(path)
        ),
    )
}

pub(super) fn unknown_source(name: &str) -> Problem {
    Problem::new(
        Code::UnknownSource,
        format!(
            "there is no source named `{}`; add [sources.<name>] to the configuration, or correct the URL at the \
             provider",
            shortened(name)
        ),
    )
}

/// The client's address is not in the source's `allow_from`.
pub(super) fn address_not_allowed(from: IpAddr) -> Problem {
    Problem::new(
        Code::AddressNotAllowed,
        format!(
            "the request comes from {from}, which is not in the source's `allow_from`; if that is your proxy, add it \
             to `server.trusted_proxies`"
        ),
    )
}

pub(super) fn method_not_allowed(method: &http::Method) -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        format!(
            "send webhooks with POST; {} is accepted only for provider handshakes",
            shortened(method.as_str())
        ),
    )
    .allow(METHODS)
}

pub(super) fn body(error: &BodyError, limit: u64) -> Problem {
    match error {
        BodyError::TooLarge => Problem::new(
            Code::BodyTooLarge,
            format!(
                "the body is longer than {limit} bytes; raise the source's `body_limit` if the provider's events are \
                 this large"
            ),
        ),
        BodyError::TooLate(within) => too_slow(format!(
            "the body was not complete after {} s; nothing was stored",
            within.as_secs()
        )),
        BodyError::TooSlow(rate) => too_slow(format!(
            "the body arrived at fewer than {rate} bytes per second; nothing was stored"
        )),
        BodyError::Broken => Problem::new(
            Code::BodyIncomplete,
            "the connection closed, or the body was not valid HTTP; nothing was stored",
        ),
        BodyError::NoRoom => no_room(),
    }
}

fn too_slow(detail: String) -> Problem {
    Problem::new(Code::BodyTimeout, detail)
}

/// There is currently no memory for this body.
pub(super) fn no_room() -> Problem {
    Problem::new(
        Code::Overloaded,
        "too many bytes of other requests are in flight; nothing was stored, deliver it again",
    )
    .retry_after(Duration::from_secs(1))
}

pub(super) fn rejection(rejection: &Rejection) -> Problem {
    Problem::new(code_of(rejection), rejection.to_string())
}

pub(super) fn key_unknown(key_id: &str) -> Problem {
    Problem::new(
        Code::SignatureInvalid,
        format!("the signature names the unknown key `{}`", shortened(key_id)),
    )
}

/// A genuine signature with a different body than on its first arrival.
pub(super) fn transmission_reused(id: &str) -> Problem {
    Problem::new(
        Code::TransmissionReused,
        format!(
            "the transmission `{}` arrived before with another body, and its signature does not prove which one is \
             genuine; only the first is accepted",
            shortened(id)
        ),
    )
}

/// A secret in a handshake was not accepted.
pub(super) fn not_taken(error: &NotTaken) -> Problem {
    match error {
        NotTaken::NoRegistration => Problem::new(Code::HandshakeRefused, error.to_string()),
        NotTaken::Store(_) => store_unavailable(),
    }
}

/// A URL of the provider had to be called first, and the call failed.
pub(super) fn confirmation_failed(why: &str) -> Problem {
    Problem::new(
        Code::ConfirmationFailed,
        format!(
            "the provider asks for a confirmation call, and {why}; nothing was confirmed, request it again"
        ),
    )
    .retry_after(IN_FLIGHT_RETRY)
}

/// This says nothing about the signature. The provider retries, and by then the key may be available.
pub(super) fn key_unavailable(key_id: &str) -> Problem {
    Problem::new(
        Code::KeyUnavailable,
        format!(
            "the key `{}` that the signature names cannot be fetched now; nothing was stored, deliver it again",
            shortened(key_id)
        ),
    )
    .retry_after(KEY_RETRY)
}

/// The provider retries, and that triggers the next attempt.
pub(super) fn handler_failed() -> Problem {
    Problem::new(
        Code::HandlerFailed,
        "the event is stored, but a destination failed; deliver it again to retry at once",
    )
}

pub(super) fn in_flight() -> Problem {
    Problem::new(
        Code::InFlight,
        "the event is stored and its deliveries are in progress; deliver it again to learn the result",
    )
    .retry_after(IN_FLIGHT_RETRY)
}

pub(super) fn store_unavailable() -> Problem {
    Problem::new(
        Code::StoreUnavailable,
        "the store does not respond, and the event may not be stored; deliver it again",
    )
    .retry_after(IN_FLIGHT_RETRY)
}

/// The store did not answer before the provider's timeout.
pub(super) fn store_silent(within: Duration) -> Problem {
    Problem::new(
        Code::StoreUnavailable,
        format!(
            "the store did not respond within {} ms, and the event may not be stored; deliver it again",
            within.as_millis()
        ),
    )
    .retry_after(IN_FLIGHT_RETRY)
}

pub(super) fn refusal(refusal: &Refusal) -> Problem {
    match refusal {
        Refusal::UnknownSource => Problem::new(
            Code::UnknownSource,
            "the source was removed from the configuration while this request was processed",
        ),
        Refusal::RateLimited { retry_after } => Problem::new(
            Code::RateLimited,
            "the source's `rate_limit` is reached; nothing was stored, deliver it again later",
        )
        .retry_after(*retry_after),
        Refusal::Overloaded { retry_after } => Problem::new(
            Code::Overloaded,
            "too many requests are waiting to be written; nothing was stored, deliver it again",
        )
        .retry_after(*retry_after),
        // Details of a store failure belong in the log, not in a response.
        Refusal::Unavailable {
            retry_after,
            message: _,
        } => Problem::new(
            Code::StoreUnavailable,
            "the store cannot write now, and the event may not be stored; deliver it again",
        )
        .retry_after(*retry_after),
        Refusal::Unsupported {
            retry_after,
            message: _,
        } => Problem::new(
            Code::StoreUnsupported,
            "the store is not set up as this service needs it, which its log explains; nothing was stored, deliver it \
             again after this is corrected",
        )
        .retry_after(*retry_after),
        Refusal::ShuttingDown { retry_after } => {
            Problem::new(Code::ShuttingDown, "the service is stopping; deliver it again")
                .retry_after(*retry_after)
                .closing()
        }
        Refusal::Rejected { message } => Problem::new(
            Code::EventRefused,
            format!("the store can never store this event: {message}"),
        ),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_provider_should_repeat_says_when() {
        let retry_after = Duration::from_millis(1500);
        for (case, status, code) in [
            (Refusal::RateLimited { retry_after }, 429, Code::RateLimited),
            (Refusal::Overloaded { retry_after }, 503, Code::Overloaded),
            (Refusal::ShuttingDown { retry_after }, 503, Code::ShuttingDown),
            (
                Refusal::Unavailable {
                    retry_after,
                    message: "no space on /var/secret".to_owned(),
                },
                503,
                Code::StoreUnavailable,
            ),
            (
                Refusal::Unsupported {
                    retry_after,
                    message: "no rights on /var/secret".to_owned(),
                },
                500,
                Code::StoreUnsupported,
            ),
        ] {
            let problem = refusal(&case);
            assert_eq!((problem.status().as_u16(), problem.code()), (status, code));
            assert!(!problem.detail().contains("/var/secret"));
            let response = problem.into_response::<http_body_util::Full<bytes::Bytes>>();
            assert_eq!(response.headers()["retry-after"], "2");
        }
    }
}

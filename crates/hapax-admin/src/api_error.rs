//! The errors of the admin API. All of its statuses and codes are in this file.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use hapax_core::store;
use hapax_engine::{Refusal, ReleaseError};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};

use hapax_api::problem::Problem;
use hapax_config::Role;
use hapax_telemetry::chain;

/// How long a client should wait before it retries when the store did not answer.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// An error to be sent as a problem document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError(Problem);

/// The result type of handlers.
pub type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    /// The token is missing or wrong.
    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "The token is missing or wrong",
            detail,
        ))
    }

    /// A request that a foreign web page could have caused.
    pub fn forbidden_origin(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::FORBIDDEN,
            "forbidden_origin",
            "The admin API without a token answers only this machine",
            detail,
        ))
    }

    /// Too many wrong tokens came from this address.
    pub fn too_many_attempts(wait: Duration) -> Self {
        let detail = format!(
            "too many wrong tokens came from your address; no token is looked at for {} s",
            wait.as_secs().max(1)
        );
        let status = StatusCode::TOO_MANY_REQUESTS;
        let problem = Problem::new(status, "too_many_attempts", "Too many wrong tokens", detail);
        Self(problem.retry_after(wait))
    }

    /// The caller's role is too low.
    pub fn role_too_low(who: &str, role: Role, needed: Role) -> Self {
        let (role, needed) = (role.as_str(), needed.as_str());
        let detail = format!(
            "`{who}` has the role `{role}`, and this takes `{needed}`; use a token with that role, or change `role` in \
             [[server.tokens]]"
        );
        let status = StatusCode::FORBIDDEN;
        Self(Problem::new(
            status,
            "role_too_low",
            "Your role may not do this",
            detail,
        ))
    }

    /// A request about a source that the caller does not see, or about all sources.
    pub fn sources_limited(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::FORBIDDEN,
            "sources_limited",
            "You see only some sources",
            detail,
        ))
    }

    /// A search by a field that is redacted for the caller.
    pub fn field_redacted(source: &str, pointer: &str) -> Self {
        Self(Problem::new(
            StatusCode::FORBIDDEN,
            "field_redacted",
            "This field is hidden from you",
            format!(
                "`{pointer}` of source `{source}` is hidden, and a search by its value would tell it; leave the term \
                 out, name another source, or use a token that may do more than read"
            ),
        ))
    }

    /// A browser returned from the identity provider without a pending sign-in.
    pub fn sign_in_stale() -> Self {
        Self(Problem::new(
            StatusCode::BAD_REQUEST,
            "sign_in_stale",
            "This sign-in is over",
            "it was begun more than ten minutes ago, in another browser, or another one was begun in this browser since; \
             go to /login and sign in again",
        ))
    }

    /// A response of the identity provider that is not trusted.
    pub fn sign_in_refused(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::FORBIDDEN,
            "sign_in_refused",
            "You were not signed in",
            detail,
        ))
    }

    /// A user of the identity provider without a role in Hapax.
    pub fn no_role(who: &str, claim: &str, values: &str, missing: &str) -> Self {
        let detail = format!(
            "you are `{who}`, and nothing in your claim `{claim}` {missing}; it has {values}. Ask whoever runs this \
             service, or your identity provider, to give you access, and sign in again"
        );
        let status = StatusCode::FORBIDDEN;
        Self(Problem::new(status, "no_role", "You have no access here", detail))
    }

    /// The identity provider does not answer, or answers incorrectly.
    pub fn provider_unavailable(detail: impl Into<String>) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let problem = Problem::new(
            status,
            "identity_provider_unavailable",
            "The identity provider cannot be used",
            detail,
        );
        Self(problem.retry_after(RETRY_AFTER))
    }

    /// A form without the proof that it comes from a page of this session.
    pub fn stale_form() -> Self {
        Self(Problem::new(
            StatusCode::FORBIDDEN,
            "stale_form",
            "The form is from another session",
            "the form was made before you signed in, or before the service started; go back, load the page again and \
             send it once more",
        ))
    }

    /// An invalid path, query or body value.
    pub fn invalid_parameter(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_parameter",
            "A value cannot be understood",
            detail,
        ))
    }

    /// A body that is not valid JSON of the expected shape.
    pub fn malformed_body(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::BAD_REQUEST,
            "malformed_body",
            "The body cannot be read",
            detail,
        ))
    }

    /// A body that exceeds the limit of the admin port.
    pub fn body_too_large(limit_bytes: usize) -> Self {
        let detail = format!("the body is over {limit_bytes} bytes, the limit of the admin API");
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        Self(Problem::new(
            status,
            "body_too_large",
            "The body is too large",
            detail,
        ))
    }

    /// The requested thing does not exist.
    pub fn not_found(what: Missing, detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::NOT_FOUND,
            what.code(),
            what.title(),
            detail,
        ))
    }

    /// The path exists, but not with this method.
    pub fn method_not_allowed() -> Self {
        Self(Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "The path does not take this method",
            "the path exists, but not with this method; docs/reference/api.md lists them all",
        ))
    }

    /// Refused because deliveries are unfinished.
    pub fn deliveries_unfinished(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::CONFLICT,
            "deliveries_unfinished",
            "Deliveries are unfinished",
            detail,
        ))
    }

    /// Refused because no delivery fits the mode.
    pub fn nothing_to_replay(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::CONFLICT,
            "nothing_to_replay",
            "Nothing to replay",
            detail,
        ))
    }

    /// A source of a provider that does not send a secret.
    pub fn no_registration(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::CONFLICT,
            "no_registration",
            "The source takes no registration",
            detail,
        ))
    }

    /// The job has finished and cannot be cancelled.
    pub fn replay_finished(detail: impl Into<String>) -> Self {
        Self(Problem::new(
            StatusCode::CONFLICT,
            "replay_finished",
            "The replay is over",
            detail,
        ))
    }

    /// The limit of saved searches is reached.
    pub fn too_many_saved_searches(limit: usize) -> Self {
        let detail = format!("{limit} views are saved, which is the limit; delete one and save again");
        let status = StatusCode::CONFLICT;
        Self(Problem::new(
            status,
            "too_many_saved_searches",
            "Too many saved searches",
            detail,
        ))
    }

    /// Too many live tails at once.
    pub fn too_many_streams(limit: usize) -> Self {
        let detail = format!("{limit} live tails are open, which is the limit; close one and try again");
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let problem = Problem::new(status, "too_many_streams", "Too many live tails", detail);
        Self(problem.retry_after(RETRY_AFTER))
    }

    /// The database of an outbox cannot be used.
    pub fn outbox_unavailable(detail: impl Into<String>) -> Self {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let problem = Problem::new(status, "outbox_unavailable", "The outbox is unavailable", detail);
        Self(problem.retry_after(RETRY_AFTER))
    }

    /// The store did not answer in time.
    pub fn timeout(limit: Duration) -> Self {
        let detail = format!(
            "the store did not answer within {} s; the operation may still complete, so check its result before you try again",
            limit.as_secs()
        );
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let problem = Problem::new(status, "store_unavailable", "The store is unavailable", detail);
        Self(problem.retry_after(RETRY_AFTER))
    }

    /// The HTTP status.
    pub const fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// The details of this occurrence.
    pub fn detail(&self) -> String {
        self.0.detail().to_owned()
    }

    /// The stable code.
    #[cfg(test)]
    pub const fn code(&self) -> &'static str {
        self.0.code()
    }
}

/// What was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// A path.
    Path,
    /// An event, or its payload.
    Event,
    /// A source.
    Source,
    /// A destination.
    Destination,
    /// An alert receiver.
    Receiver,
    /// A bulk replay.
    Replay,
    /// An id in the ledger.
    LedgerEntry,
    /// A conflicting body.
    Conflict,
    /// A saved search.
    SavedSearch,
    /// A refused row of an outbox.
    OutboxRow,
}

impl Missing {
    const fn code(self) -> &'static str {
        match self {
            Self::Path => "unknown_path",
            Self::Event => "event_not_found",
            Self::Source => "unknown_source",
            Self::Destination => "unknown_destination",
            Self::Receiver => "unknown_receiver",
            Self::Replay => "replay_not_found",
            Self::LedgerEntry => "ledger_entry_not_found",
            Self::Conflict => "conflict_not_found",
            Self::SavedSearch => "saved_search_not_found",
            Self::OutboxRow => "outbox_row_not_found",
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Path => "Unknown path",
            Self::Event => "No such event",
            Self::Source => "Unknown source",
            Self::Destination => "Unknown destination",
            Self::Receiver => "Unknown receiver",
            Self::Replay => "No such replay",
            Self::LedgerEntry => "The ledger does not know this id",
            Self::Conflict => "No such conflict",
            Self::SavedSearch => "No such view",
            Self::OutboxRow => "No such refused row",
        }
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        let detail = chain(&error);
        let problem = match error {
            store::Error::Unavailable { .. } => Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "store_unavailable",
                "The store is unavailable",
                detail,
            )
            .retry_after(RETRY_AFTER),
            store::Error::Overloaded => Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded",
                "The store has too much to write",
                detail,
            )
            .retry_after(RETRY_AFTER),
            store::Error::Damaged { .. } => Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "store_damaged",
                "The store is damaged",
                detail,
            ),
            store::Error::Unsupported { .. } => Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "store_unsupported",
                "The store is not as Hapax needs it",
                detail,
            ),
            store::Error::Rejected { .. } => Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "store_rejected",
                "The store refuses this",
                detail,
            ),
        };
        Self(problem)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        let unavailable = |code, title, wait| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, title, detail.clone()).retry_after(wait)
        };
        Self(match refusal {
            Refusal::UnknownSource => Problem::new(
                StatusCode::NOT_FOUND,
                Missing::Source.code(),
                Missing::Source.title(),
                detail,
            ),
            Refusal::RateLimited { retry_after } => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                Problem::new(status, "rate_limited", "Over the source's rate", detail)
                    .retry_after(retry_after)
            }
            Refusal::Overloaded { retry_after } => {
                unavailable("overloaded", "The store has too much to write", retry_after)
            }
            Refusal::Unavailable { retry_after, .. } | Refusal::ShuttingDown { retry_after } => {
                unavailable("store_unavailable", "The store is unavailable", retry_after)
            }
            Refusal::Unsupported { .. } => Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "store_unsupported",
                "The store is not as Hapax needs it",
                detail,
            ),
            Refusal::Rejected { .. } => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                Problem::new(status, "store_rejected", "The store refuses this", detail)
            }
        })
    }
}

impl From<ReleaseError> for ApiError {
    fn from(error: ReleaseError) -> Self {
        match error {
            ReleaseError::Store(error) => error.into(),
            ReleaseError::Refused(refusal) => refusal.into(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.0.status();
        let mut response: Response = self.0.clone().into_response();
        // The dashboard renders it as a page.
        response.extensions_mut().insert(self.0);
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer realm=\"hapax\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

//! The errors of the admin API, and those of the engine and the store as their problem codes.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use hapax_core::store;
use hapax_engine::{Refusal, ReleaseError};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};

use hapax_api::problem::{Code, Problem};
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
    /// An error with the details of this occurrence. A 503 also says when to retry.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let problem = Problem::new(code, detail);
        if problem.status() == StatusCode::SERVICE_UNAVAILABLE {
            Self(problem.retry_after(RETRY_AFTER))
        } else {
            Self(problem)
        }
    }

    /// Too many wrong tokens came from this address.
    pub fn too_many_attempts(wait: Duration) -> Self {
        let detail = format!(
            "too many wrong tokens came from your address; wait {} s before you try again",
            wait.as_secs().max(1)
        );
        Self(Problem::new(Code::TooManyAttempts, detail).retry_after(wait))
    }

    /// The caller's role is too low.
    pub fn role_too_low(who: &str, role: Role, needed: Role) -> Self {
        let (role, needed) = (role.as_str(), needed.as_str());
        let detail = format!(
            "`{who}` has the role `{role}`, and this requires `{needed}`; use a token with that role, or change `role` \
             in [[server.tokens]]"
        );
        Self::new(Code::RoleTooLow, detail)
    }

    /// A search by a field that is redacted for the caller.
    pub fn field_redacted(source: &str, pointer: &str) -> Self {
        let detail = format!(
            "`{pointer}` of source `{source}` is redacted, and a search by its value would reveal it; remove the \
                 term, search another source, or use a token with a role above `read`"
        );
        Self::new(Code::FieldRedacted, detail)
    }

    /// A browser returned from the identity provider without a pending sign-in.
    pub fn sign_in_stale() -> Self {
        Self::new(
            Code::SignInStale,
            "it was started more than ten minutes ago or in another browser, or a newer one was started in this \
             browser; go to /login and sign in again",
        )
    }

    /// A user of the identity provider without a role in Hapax.
    pub fn no_role(who: &str, claim: &str, values: &str, missing: &str) -> Self {
        let detail = format!(
            "you are `{who}`, and no value of your claim `{claim}` {missing}; its values are {values}. Ask the \
             operator of this service or of your identity provider for access, and sign in again"
        );
        Self::new(Code::NoRole, detail)
    }

    /// A form without the proof that it comes from a page of this session.
    pub fn stale_form() -> Self {
        Self::new(
            Code::StaleForm,
            "the form was loaded before you signed in, or before the service started; go back, reload the page and \
             submit it again",
        )
    }

    /// An invalid path, query or body value.
    pub fn invalid_parameter(detail: impl Into<String>) -> Self {
        Self::new(Code::InvalidParameter, detail)
    }

    /// A body that exceeds the limit of the admin port.
    pub fn body_too_large(limit_bytes: usize) -> Self {
        let detail = format!("the body is larger than {limit_bytes} bytes, the limit of the admin API");
        Self::new(Code::BodyTooLarge, detail)
    }

    /// The path exists, but not with this method.
    pub fn method_not_allowed() -> Self {
        Self::new(
            Code::MethodNotAllowed,
            "the path exists, but not with this method; docs/reference/api.md lists them all",
        )
    }

    /// The limit of saved searches is reached.
    pub fn too_many_saved_searches(limit: usize) -> Self {
        let detail = format!("{limit} searches are saved, which is the limit; delete one and save again");
        Self::new(Code::TooManySavedSearches, detail)
    }

    /// Too many live tails are open.
    pub fn too_many_streams(limit: usize) -> Self {
        let detail = format!("the limit of {limit} live tails is reached; close one and try again");
        Self::new(Code::TooManyStreams, detail)
    }

    /// The store did not answer in time.
    pub fn timeout(limit: Duration) -> Self {
        let detail = format!(
            "the store did not answer within {} s; the operation may still complete, so check its result before you try again",
            limit.as_secs()
        );
        Self::new(Code::StoreUnavailable, detail)
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// The details of this occurrence.
    pub fn detail(&self) -> String {
        self.0.detail().to_owned()
    }

    /// The stable code.
    #[cfg(test)]
    pub const fn code(&self) -> Code {
        self.0.code()
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        let code = match error {
            store::Error::Unavailable { .. } => Code::StoreUnavailable,
            store::Error::Overloaded => Code::Overloaded,
            store::Error::Damaged { .. } => Code::StoreDamaged,
            store::Error::Unsupported { .. } => Code::StoreUnsupported,
            store::Error::Rejected { .. } => Code::StoreRejected,
        };
        Self::new(code, chain(&error))
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let (code, wait) = match refusal {
            Refusal::UnknownSource => (Code::UnknownSource, None),
            Refusal::RateLimited { retry_after } => (Code::RateLimited, Some(retry_after)),
            Refusal::Overloaded { retry_after } => (Code::Overloaded, Some(retry_after)),
            Refusal::Unavailable { retry_after, .. } | Refusal::ShuttingDown { retry_after } => {
                (Code::StoreUnavailable, Some(retry_after))
            }
            Refusal::Unsupported { .. } => (Code::StoreUnsupported, None),
            Refusal::Rejected { .. } => (Code::StoreRejected, None),
        };
        let problem = Problem::new(code, refusal.to_string());
        Self(match wait {
            Some(wait) => problem.retry_after(wait),
            None => problem,
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

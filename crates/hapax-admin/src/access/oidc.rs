//! Sign-in with an identity provider: OpenID Connect, authorization code flow with PKCE.
//!
//! [`Attempt`] is the state that a browser holds between its two visits. [`IdentityProvider`] is the other side: its
//! endpoints and signing keys (`discovery`), and the calls to it. A token is trusted once `jws` has verified its
//! signature and `claims` its audience, issuer and validity; `roles` then turns it into a [`User`].

mod attempt;
mod call;
mod claims;
mod discovery;
mod jws;
mod metadata;
mod roles;

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use serde::Deserialize;
use serde_json::Value;

use super::random::random;
use crate::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;
use hapax_config::Oidc;

pub use attempt::{ATTEMPT_LIFE_SECONDS, Attempt};
pub(crate) use claims::LoggedOut;
pub use discovery::IdentityProvider;
use discovery::Known;
pub(crate) use roles::User;

/// The parameters that the provider sends back with the browser. Which ones are present depends on the provider.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Returned {
    code: String,
    state: String,
    /// The issuer, if the provider sends it.
    iss: Option<String>,
    error: Option<String>,
}

impl IdentityProvider {
    /// The URL to redirect a browser to, and the state that it must keep until it returns.
    pub async fn begin(&self, oidc: &Oidc, next: &str) -> ApiResult<(String, Attempt)> {
        let known = self.known(oidc).await?;
        let attempt = Attempt::new(hex::encode(random()));
        let scope = ["openid"]
            .into_iter()
            .chain(oidc.scopes.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ");
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([
                ("response_type", "code"),
                ("client_id", &oidc.client_id),
                ("redirect_uri", &oidc.redirect_url()),
                ("scope", &scope),
                ("state", &attempt.state(next)),
                ("nonce", &attempt.nonce()),
                ("code_challenge", &attempt.challenge()),
                ("code_challenge_method", "S256"),
            ])
            .finish();
        let endpoint = &known.metadata.authorization_endpoint;
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok((format!("{endpoint}{separator}{query}"), attempt))
    }

    /// The user who returned, and the page that they requested.
    pub async fn finish(
        &self,
        oidc: &Oidc,
        attempt: &Attempt,
        returned: &Returned,
    ) -> ApiResult<(User, String)> {
        // First, so that nothing else of a forged URL is examined or shown.
        let next = attempt
            .next_of(&returned.state)
            .ok_or_else(ApiError::sign_in_stale)?;
        let known = self.known(oidc).await?;
        known.check_sender(oidc, returned.iss.as_deref())?;
        if let Some(error) = &returned.error {
            return Err(ApiError::new(
                Code::SignInRefused,
                format!("the identity provider ended the sign-in with `{}`", code(error)),
            ));
        }
        let tokens = known.exchange(oidc, attempt, &returned.code).await?;
        let refused = |why: String| {
            ApiError::new(
                Code::SignInRefused,
                format!("the ID token was not accepted: {why}"),
            )
        };
        let verified = self.verified(oidc, &known, &tokens.id_token).await?;
        let id_token = verified.map_err(|error| refused(error.to_string()))?;
        claims::check_id_token(&id_token, oidc, &attempt.nonce(), self.clock.now().as_seconds())
            .map_err(refused)?;
        let told = if roles::is_whole(oidc, &id_token) {
            None
        } else {
            known.user_info(&tokens, &id_token).await?
        };
        let user = roles::user(oidc, &id_token, told.as_ref().unwrap_or(&Value::Null))?;
        Ok((user, next))
    }

    /// Reads a logout token that the provider sends (back-channel logout), and returns the sessions to end.
    pub async fn logged_out(&self, oidc: &Oidc, token: &str) -> ApiResult<LoggedOut> {
        let known = self.known(oidc).await?;
        let refused =
            |why: String| ApiError::invalid_parameter(format!("the logout token was not accepted: {why}"));
        let verified = self.verified(oidc, &known, token).await?;
        let claims = verified.map_err(|error| refused(error.to_string()))?;
        claims::check_logout_token(&claims, oidc, self.clock.now().as_seconds()).map_err(refused)
    }

    /// The claims of a token with a valid signature. If the key is unknown, it may be new, so the keys are fetched
    /// again.
    async fn verified(
        &self,
        oidc: &Oidc,
        known: &Known,
        token: &str,
    ) -> ApiResult<Result<Value, jws::Error>> {
        match jws::verify(token, &known.keys) {
            Err(jws::Error::UnknownKey) => {
                let newer = self.with_new_keys(oidc, known).await?;
                Ok(jws::verify(token, &newer.keys))
            }
            verified => Ok(verified),
        }
    }
}

impl Known {
    async fn exchange(&self, oidc: &Oidc, attempt: &Attempt, code: &str) -> ApiResult<Tokens> {
        let request = call::token_request(oidc, &self.metadata, attempt, code)?;
        self.caller.json(request).await
    }

    /// Further claims about the user; `None` if the provider has no UserInfo endpoint.
    async fn user_info(&self, tokens: &Tokens, id_token: &Value) -> ApiResult<Option<Value>> {
        let (Some(endpoint), Some(token)) = (&self.metadata.userinfo_endpoint, &tokens.access_token) else {
            return Ok(None);
        };
        let bearer = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| ApiError::new(Code::SignInRefused, "the access token cannot be sent"))?;
        let request = Request::get(endpoint).header(AUTHORIZATION, bearer);
        let told: Value = self.caller.json(call::without_body(request)?).await?;
        // Another user's access token must not grant their roles.
        if told.get("sub") != id_token.get("sub") {
            return Err(ApiError::new(
                Code::SignInRefused,
                "UserInfo is about another user than the ID token",
            ));
        }
        Ok(Some(told))
    }
}

/// The provider's response to a code.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    #[serde(default)]
    access_token: Option<String>,
}

/// An error code, if it looks like one: a URL can contain any string.
fn code(error: &str) -> &str {
    let is_code = (1..=64).contains(&error.len())
        && error
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_code { error } else { "an error without a code" }
}

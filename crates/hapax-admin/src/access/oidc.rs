//! Signing in at an identity provider: OpenID Connect, by authorization code with PKCE.
//!
//! [`Attempt`] is what a browser holds between its two visits. [`IdentityProvider`] is the other side: where it is and
//! which keys it signs with (`discovery`), and the calls to it. What a token says is believed once `jws` has checked its
//! signature and `claims` for whom, by whom and for when it was made; `roles` makes a [`User`] of it.

mod attempt;
mod call;
mod claims;
mod discovery;
mod jws;
mod roles;

use hapax_core::{Clock as _, SystemClock};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use serde::Deserialize;
use serde_json::Value;

use super::gate::random;
use crate::api_error::{ApiError, ApiResult};
use hapax_config::Oidc;

pub use attempt::{ATTEMPT_LIFE_SECONDS, Attempt};
pub(crate) use claims::LoggedOut;
pub use discovery::IdentityProvider;
use discovery::Known;
pub(crate) use roles::User;

/// What the provider sends back with the browser. Which of them are there is for the provider to say.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Returned {
    code: String,
    state: String,
    /// Who sends it back, where the provider says so.
    iss: Option<String>,
    error: Option<String>,
}

impl IdentityProvider {
    /// Where to send a browser, and what it has to hold until it comes back.
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

    /// Who came back, and the page that they wanted.
    pub async fn finish(
        &self,
        oidc: &Oidc,
        attempt: &Attempt,
        returned: &Returned,
    ) -> ApiResult<(User, String)> {
        // First: nothing else of an address that someone else made up is looked at, or shown.
        let next = attempt
            .next_of(&returned.state)
            .ok_or_else(ApiError::sign_in_stale)?;
        let known = self.known(oidc).await?;
        known.check_sender(oidc, returned.iss.as_deref())?;
        if let Some(error) = &returned.error {
            return Err(ApiError::sign_in_refused(format!(
                "the identity provider ended the sign-in with `{}`",
                code(error)
            )));
        }
        let tokens = known.exchange(oidc, attempt, &returned.code).await?;
        let refused =
            |why: String| ApiError::sign_in_refused(format!("the ID token was not accepted: {why}"));
        let verified = self.verified(oidc, &known, &tokens.id_token).await?;
        let id_token = verified.map_err(|error| refused(error.to_string()))?;
        claims::check_id_token(&id_token, oidc, &attempt.nonce(), now()).map_err(refused)?;
        let told = if roles::is_whole(oidc, &id_token) {
            None
        } else {
            known.user_info(&tokens, &id_token).await?
        };
        let user = roles::user(oidc, &id_token, told.as_ref().unwrap_or(&Value::Null))?;
        Ok((user, next))
    }

    /// Whose sessions end, by a token that the provider sends by itself (back-channel logout).
    pub async fn logged_out(&self, oidc: &Oidc, token: &str) -> ApiResult<LoggedOut> {
        let known = self.known(oidc).await?;
        let refused =
            |why: String| ApiError::invalid_parameter(format!("the logout token was not accepted: {why}"));
        let verified = self.verified(oidc, &known, token).await?;
        let claims = verified.map_err(|error| refused(error.to_string()))?;
        claims::check_logout_token(&claims, oidc, now()).map_err(refused)
    }

    /// What a token says, once its signature is known to be the provider's. A key that is not known may be a new one.
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

    /// What else the provider says of the user; nothing where it has no such place.
    async fn user_info(&self, tokens: &Tokens, id_token: &Value) -> ApiResult<Option<Value>> {
        let (Some(endpoint), Some(token)) = (&self.metadata.userinfo_endpoint, &tokens.access_token) else {
            return Ok(None);
        };
        let bearer = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| ApiError::sign_in_refused("the access token cannot be sent"))?;
        let request = Request::get(endpoint).header(AUTHORIZATION, bearer);
        let told: Value = self.caller.json(call::without_body(request)?).await?;
        // An access token of someone else must not lend their roles.
        if told.get("sub") != id_token.get("sub") {
            return Err(ApiError::sign_in_refused(
                "UserInfo is about somebody else than the ID token",
            ));
        }
        Ok(Some(told))
    }
}

/// In seconds.
fn now() -> i64 {
    SystemClock::default().now().as_seconds()
}

/// What the provider gives for a code.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    #[serde(default)]
    access_token: Option<String>,
}

/// The code of an error, as far as it is one: an address can bring any text.
fn code(error: &str) -> &str {
    let is_code = (1..=64).contains(&error.len())
        && error
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if is_code { error } else { "an error without a code" }
}

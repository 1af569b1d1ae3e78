//! Calls to the identity provider, limited in time and size. Redirects are not followed.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use form_urlencoded::{Serializer, byte_serialize};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Full;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::attempt::Attempt;
use super::metadata::Metadata;
use crate::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;
use hapax_config::{Oidc, shown_url};
use hapax_outbound::client::Client;
use hapax_outbound::exchange::Bounds;

const BOUNDS: Bounds = Bounds {
    // Including the connection.
    timeout: Duration::from_secs(5),
    // The keys of large providers take tens of kilobytes.
    answer_bytes_max: 256 * 1024,
};

/// A client for calls to the provider.
#[derive(Clone)]
pub(super) struct Caller(Client);

impl Caller {
    /// A client that also trusts the certificate authorities in a file.
    pub(super) fn new(client: &Client, ca: Option<&Path>) -> ApiResult<Self> {
        let Some(path) = ca else {
            return Ok(Self(client.clone()));
        };
        let unusable = |error: &dyn Display| {
            ApiError::new(
                Code::IdentityProviderUnavailable,
                format!(
                    "the file {} of `server.oidc.ca` cannot be used: {error}",
                    path.display()
                ),
            )
        };
        let authorities = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let authorities = authorities.map_err(|error| unusable(&error))?;
        let client = client.trusting_also(authorities);
        client.map(Self).map_err(|error| unusable(&error))
    }

    /// Fetches a URL.
    pub(super) async fn get<T: DeserializeOwned>(&self, url: &str) -> ApiResult<T> {
        self.json(without_body(Request::get(url))?).await
    }

    /// Sends a request and parses the JSON response.
    pub(super) async fn json<T: DeserializeOwned>(&self, request: Request<Full<Bytes>>) -> ApiResult<T> {
        let shown = shown_url(request.uri());
        let unavailable =
            |why: String| ApiError::new(Code::IdentityProviderUnavailable, format!("{shown} {why}"));
        let answer = self.0.exchange(request, BOUNDS).await;
        let answer = answer.map_err(|error| unavailable(format!("cannot be reached: {error}")))?;
        if !answer.status().is_success() {
            return Err(refusal(&shown, answer.status(), answer.body()));
        }
        serde_json::from_slice(answer.body())
            .map_err(|_| unavailable("sent a response that does not conform to OpenID Connect".to_owned()))
    }
}

/// A refused code concerns only this sign-in; any other error concerns the provider or the settings.
fn refusal(shown: &str, status: StatusCode, body: &[u8]) -> ApiError {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
    }
    let refusal = serde_json::from_slice::<Refusal>(body);
    let error = refusal
        .as_ref()
        .map_or("no code", |refusal| super::code(&refusal.error));
    let detail = format!("{shown} answered {} with `{error}`", status.as_u16());
    if error == "invalid_grant" {
        return ApiError::new(Code::SignInRefused, detail);
    }
    tracing::warn!(detail, "the identity provider refused a call");
    ApiError::new(Code::IdentityProviderUnavailable, detail)
}

/// The request that exchanges a code for tokens.
pub(super) fn token_request(
    oidc: &Oidc,
    metadata: &Metadata,
    attempt: &Attempt,
    code: &str,
) -> ApiResult<Request<Full<Bytes>>> {
    let mut form = Serializer::new(String::new());
    form.extend_pairs([
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &oidc.redirect_url()),
        ("code_verifier", &attempt.verifier()),
    ]);
    let mut request = Request::post(&metadata.token_endpoint)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    match &oidc.client_secret {
        None => {
            form.append_pair("client_id", &oidc.client_id);
        }
        Some(secret) if metadata.takes_basic() => {
            // RFC 6749 asks for the encoding of forms.
            let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encoded(&oidc.client_id), encoded(secret.expose()));
            let mut value =
                HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))).map_err(|_| {
                    ApiError::new(
                        Code::IdentityProviderUnavailable,
                        "the client secret cannot be sent",
                    )
                })?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        Some(secret) => {
            form.append_pair("client_id", &oidc.client_id);
            form.append_pair("client_secret", secret.expose());
        }
    }
    with_body(request, form.finish())
}

pub(super) fn without_body(request: http::request::Builder) -> ApiResult<Request<Full<Bytes>>> {
    with_body(request.header(ACCEPT, "application/json"), String::new())
}

fn with_body(request: http::request::Builder, body: String) -> ApiResult<Request<Full<Bytes>>> {
    let request = request.body(Full::new(Bytes::from(body)));
    request.map_err(|_| {
        ApiError::new(
            Code::IdentityProviderUnavailable,
            "the identity provider returned an invalid URL",
        )
    })
}

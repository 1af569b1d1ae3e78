//! What is known of the identity provider: where its endpoints are, and which keys it signs with.
//!
//! It is asked when someone signs in, never at the start: the service runs without it. What it said counts for ten
//! minutes, so that another description and withdrawn keys are noticed; a key that is not known is looked for at once.

use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::call::Caller;
use super::jws::{Jwk, KeySet};
use crate::api_error::{ApiError, ApiResult};
use hapax_config::{Oidc, secure_url};
use hapax_outbound::client::Client;

/// How long what it said counts.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// How often it is asked again because of a key that is not known: anyone can make one up.
const NEW_KEYS_EVERY: Duration = Duration::from_secs(30);

/// The other side of every sign-in.
pub struct IdentityProvider {
    client: Client,
    /// Held during the calls: who comes meanwhile waits for the same answer.
    known: Mutex<Option<Known>>,
}

/// What it said.
#[derive(Clone)]
pub(super) struct Known {
    discovery_url: Uri,
    pub(super) caller: Caller,
    pub(super) metadata: Arc<Metadata>,
    pub(super) keys: Arc<Vec<Jwk>>,
    fetched_at: Instant,
    /// When it was last asked because of a key that was not known.
    sought_at: Option<Instant>,
}

/// How it describes itself, as far as that is used.
#[derive(Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    #[serde(default)]
    pub(super) userinfo_endpoint: Option<String>,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl IdentityProvider {
    /// One that nothing is known of yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::new(None),
        }
    }

    /// What it says, not older than ten minutes.
    pub(super) async fn known(&self, oidc: &Oidc) -> ApiResult<Known> {
        let mut known = self.known.lock().await;
        let counts = |known: &&Known| {
            known.discovery_url == oidc.discovery_url && known.fetched_at.elapsed() < KEPT_FOR
        };
        if let Some(known) = known.as_ref().filter(counts) {
            return Ok(known.clone());
        }
        let fetched = self.fetch(oidc).await?;
        Ok(known.insert(fetched).clone())
    }

    /// The same with the keys that it has now, unless it was asked for them just before.
    pub(super) async fn with_new_keys(&self, oidc: &Oidc, before: &Known) -> ApiResult<Known> {
        let mut known = self.known.lock().await;
        let now = Instant::now();
        let is_newer = |known: &&Known| known.fetched_at > before.fetched_at;
        if let Some(newer) = known.as_ref().filter(is_newer) {
            return Ok(newer.clone());
        }
        let sought_at = known.as_ref().and_then(|known| known.sought_at);
        if sought_at.is_some_and(|at| now.duration_since(at) < NEW_KEYS_EVERY) {
            return Ok(before.clone());
        }
        let fetched = Known {
            sought_at: Some(now),
            ..self.fetch(oidc).await?
        };
        Ok(known.insert(fetched).clone())
    }

    async fn fetch(&self, oidc: &Oidc) -> ApiResult<Known> {
        let fetched_at = Instant::now();
        let caller = Caller::new(&self.client, oidc.ca.as_deref())?;
        let metadata: Metadata = caller.get(&oidc.discovery_url.to_string()).await?;
        metadata.check(oidc)?;
        let keys: KeySet = caller.get(&metadata.jwks_uri).await?;
        Ok(Known {
            discovery_url: oidc.discovery_url.clone(),
            caller,
            metadata: Arc::new(metadata),
            keys: Arc::new(keys.into_keys()),
            fetched_at,
            sought_at: None,
        })
    }
}

impl Metadata {
    /// Whether it is the provider that is configured, and nothing goes to it in plain text.
    fn check(&self, oidc: &Oidc) -> ApiResult<()> {
        if self.issuer != oidc.issuer {
            return Err(ApiError::provider_unavailable(format!(
                "the provider calls itself `{}`, and `server.oidc.issuer` is `{}`; they have to be equal to the last slash",
                self.issuer, oidc.issuer
            )));
        }
        let mut endpoints = [&self.authorization_endpoint, &self.token_endpoint, &self.jwks_uri]
            .into_iter()
            .chain(&self.userinfo_endpoint);
        match endpoints.find_map(|endpoint| secure_url(endpoint).err()) {
            Some(why) => Err(ApiError::provider_unavailable(format!(
                "the provider's description names an address that is not used: {why}"
            ))),
            None => Ok(()),
        }
    }

    /// Whether the secret goes into a header; the form is for those that say that they take nothing else.
    pub(super) fn takes_basic(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"))
    }
}

impl Known {
    /// Whether this provider sent the browser back, and not another one that has mixed in (RFC 9207).
    pub(super) fn check_sender(&self, oidc: &Oidc, sender: Option<&str>) -> ApiResult<()> {
        match sender {
            None if !self.metadata.authorization_response_iss_parameter_supported => Ok(()),
            Some(sender) if sender == oidc.issuer => Ok(()),
            Some(_) | None => Err(ApiError::sign_in_refused(
                "the answer does not come from the configured identity provider",
            )),
        }
    }
}

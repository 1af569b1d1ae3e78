//! The identity provider's metadata: its endpoints and signing keys.
//!
//! It is fetched when a user signs in, never at startup: the service runs without it. It is cached for ten minutes,
//! so that new metadata and withdrawn keys are noticed. An unknown key triggers a fetch at once.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Clock;
use http::Uri;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::call::Caller;
use super::jws::{Jwk, KeySet};
use super::metadata::Metadata;
use crate::api_error::{ApiError, ApiResult};
use hapax_api::problem::Code;
use hapax_config::Oidc;
use hapax_outbound::client::Client;

/// How long the metadata is cached.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// Minimum time between fetches for unknown keys, because anyone can make up a key.
const NEW_KEYS_EVERY: Duration = Duration::from_secs(30);

/// The client side of every sign-in.
pub struct IdentityProvider {
    client: Client,
    pub(super) clock: Arc<dyn Clock>,
    /// Locked during the calls, so that concurrent sign-ins wait for the same response.
    known: Mutex<Option<Known>>,
}

/// The cached metadata and keys.
#[derive(Clone)]
pub(super) struct Known {
    discovery_url: Uri,
    pub(super) caller: Caller,
    pub(super) metadata: Arc<Metadata>,
    pub(super) keys: Arc<Vec<Jwk>>,
    fetched_at: Instant,
    /// When it was last fetched because of an unknown key.
    sought_at: Option<Instant>,
}

impl IdentityProvider {
    /// With nothing cached yet.
    pub fn new(client: Client, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            clock,
            known: Mutex::new(None),
        }
    }

    /// The metadata, at most ten minutes old.
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

    /// The metadata with current keys, unless they were fetched just before.
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

impl Known {
    /// Checks that the configured provider sent the browser back, and not another one (mix-up attack, RFC 9207).
    pub(super) fn check_sender(&self, oidc: &Oidc, sender: Option<&str>) -> ApiResult<()> {
        match sender {
            None if !self.metadata.authorization_response_iss_parameter_supported => Ok(()),
            Some(sender) if sender == oidc.issuer => Ok(()),
            Some(_) | None => Err(ApiError::new(
                Code::SignInRefused,
                "the response does not come from the configured identity provider",
            )),
        }
    }
}

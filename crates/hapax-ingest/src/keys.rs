//! Keys that providers publish for their signatures: fetched when a request names one, cached for a while, and fetched
//! only once for all requests that wait for the same key.
//!
//! The client that sends a request chooses which key it names, so everything here has a limit per source: how many keys
//! are cached, how many are fetched at once and how often, how large and how slow a response may be, and which hosts
//! are called at all. A key that does not exist (401) is distinguished from one that cannot be fetched now (503): a
//! provider must not lose a delivery because of us. For the same reason, a key that has verified a request is fetched
//! again before it expires, and used for up to a day while that fails.
//!
//! Other questions to a provider, such as whether a signature is its own, are asked and cached in the same way.

mod cache;
mod call;
mod lane;
mod source;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Clock, SourceName};
use hapax_verify::{KeyRequest, Keys};
use parking_lot::Mutex;

use call::{Caller, FetchError};
use hapax_config::KeyServer;
use hapax_outbound::client::TlsError;
use hapax_outbound::lookup::Lookup;
use lane::{Lane, SharedFetch};
use source::SourceKeys;

/// How long a request waits for its key, however busy the fetcher is: shorter than these providers wait for us.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// Fetches and caches keys. Clones share the same cache.
#[derive(Clone)]
pub struct KeyFetcher(Arc<Inner>);

struct Inner {
    caller: Caller,
    clock: Arc<dyn Clock>,
    sources: Mutex<HashMap<SourceName, Arc<SourceKeys>>>,
}

/// The result of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The key is available.
    Known,
    /// The provider has no such key.
    Unknown,
    /// The key cannot be fetched now.
    Unavailable,
}

/// The available keys of one source, for one request.
pub struct KeysAtHand<'a> {
    fetcher: &'a KeyFetcher,
    source: &'a SourceName,
    used: Mutex<Vec<String>>,
}

impl KeyFetcher {
    /// A fetcher that resolves hosts with `lookup`, or asks one server for everything.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(lookup: &Lookup, server: Option<KeyServer>, clock: Arc<dyn Clock>) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(Inner {
            caller: Caller::new(lookup, server)?,
            clock,
            sources: Mutex::default(),
        })))
    }

    /// The keys of one source, for its verifier.
    pub fn keys_of<'a>(&'a self, source: &'a SourceName) -> KeysAtHand<'a> {
        KeysAtHand {
            fetcher: self,
            source,
            used: Mutex::default(),
        }
    }

    /// Makes the keys of the remaining sources be fetched again, because a new configuration may use other servers.
    pub fn reconfigure(&self, stays: impl Fn(&SourceName) -> bool) {
        let mut sources = self.0.sources.lock();
        sources.retain(|source, _| stays(source));
        for keys in sources.values_mut() {
            *keys = Arc::new(keys.after_reload());
        }
    }

    /// Calls a URL that a verified request asks for, within the same limits; `Known` if the response is 2xx.
    pub async fn confirm(&self, source: &SourceName, url: &str) -> Outcome {
        let keys = self.source(source);
        let Some(_place) = keys.trusted.free_place() else {
            return Outcome::Unavailable;
        };
        match self.0.caller.call(url, None).await {
            Ok(_) => Outcome::Known,
            Err(fault) => fault.outcome(),
        }
    }

    /// Fetches a key, or waits for a fetch of it that is already in progress.
    pub async fn fetch(&self, source: &SourceName, request: KeyRequest) -> Outcome {
        let keys = self.source(source);
        let known = keys.cache.lock().outcome(&request.key_id, self.0.clock.elapsed());
        if let Some(outcome) = known {
            return outcome;
        }
        let Some(mut fetch) = self.call(source, &keys, request) else {
            return Outcome::Unavailable;
        };
        match tokio::time::timeout(WAIT_MAX, fetch.wait_for(Option::is_some)).await {
            Ok(Ok(outcome)) => outcome.unwrap_or(Outcome::Unavailable),
            Ok(Err(_)) | Err(_) => Outcome::Unavailable,
        }
    }

    /// The call for a key, which may already be in progress. `None` if there is no room for it.
    fn call(&self, source: &SourceName, keys: &Arc<SourceKeys>, request: KeyRequest) -> Option<SharedFetch> {
        let lane = keys.lane(&request);
        let key_id = request.key_id.clone();
        let admits = || keys.admits(lane, self.0.clock.elapsed());
        lane.join(&key_id, admits, || {
            let (fetcher, source, keys, lane) =
                (self.clone(), source.clone(), Arc::clone(keys), Arc::clone(lane));
            async move { fetcher.call_and_cache(&source, &keys, &lane, &request).await }
        })
    }

    async fn call_and_cache(
        &self,
        source: &SourceName,
        keys: &SourceKeys,
        lane: &Lane,
        request: &KeyRequest,
    ) -> Outcome {
        let Some(_place) = lane.place().await else {
            return Outcome::Unavailable;
        };
        let answer = self.0.caller.key(request).await;
        let (now, mut cache) = (self.0.clock.elapsed(), keys.cache.lock());
        let fault = match answer {
            Ok(bytes) => {
                cache.put(request, bytes, now);
                return Outcome::Known;
            }
            Err(fault) => fault,
        };
        if matches!(fault, FetchError::Credentials) {
            // The access token was revoked before it expired, so a new one has to be requested.
            cache.forget_tokens();
        }
        let outcome = match fault.outcome() {
            Outcome::Unknown => {
                cache.put_unknown(&request.key_id, now);
                Outcome::Unknown
            }
            Outcome::Known | Outcome::Unavailable if cache.extend(request, now) => Outcome::Known,
            Outcome::Known | Outcome::Unavailable => Outcome::Unavailable,
        };
        drop(cache);
        match outcome {
            Outcome::Known => tracing::warn!(
                %source, key = %request.key_id, %fault,
                "a key could not be refreshed; the known one is used for up to a day"
            ),
            Outcome::Unknown | Outcome::Unavailable => {
                tracing::warn!(%source, key = %request.key_id, %fault, "a key could not be fetched");
            }
        }
        outcome
    }

    fn source(&self, source: &SourceName) -> Arc<SourceKeys> {
        let mut sources = self.0.sources.lock();
        if let Some(keys) = sources.get(source) {
            return Arc::clone(keys);
        }
        Arc::clone(sources.entry(source.clone()).or_default())
    }
}

impl KeysAtHand<'_> {
    /// Records that these keys have verified a request.
    pub fn proved(&self) {
        let used = self.used.lock();
        if !used.is_empty() {
            self.fetcher.source(self.source).cache.lock().trust(used.iter());
        }
    }
}

impl Keys for KeysAtHand<'_> {
    fn get(&self, key_id: &str) -> Option<Vec<u8>> {
        let keys = self.fetcher.source(self.source);
        let found = keys.cache.lock().get(key_id, self.fetcher.0.clock.elapsed())?;
        if let Some(request) = found.refresh {
            // No one waits for the result.
            let _ = self.fetcher.call(self.source, &keys, request);
        }
        self.used.lock().push(key_id.to_owned());
        Some(found.bytes)
    }
}

impl std::fmt::Debug for KeyFetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyFetcher").finish_non_exhaustive()
    }
}

//! Keys that senders sign with and publish: fetched when a request names one, kept for a while, fetched once however
//! many requests wait for it.
//!
//! Whoever sends a request chooses which key it names, so everything here has a limit: how many keys are kept, how many
//! are fetched at once, how large and how slow an answer may be, and which hosts are called at all. A key that is not
//! there (401) is told from one that cannot be fetched now (503): a sender must not lose a delivery because of us.
//!
//! What else a sender is asked, such as whether a signature is its own, is asked and kept in the same way.

mod cache;
mod call;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hapax_core::{Clock, SourceName};
use hapax_verify::{KeyRequest, Keys};
use tokio::sync::{Semaphore, watch};

use crate::destination::http::Lookup;
use crate::destination::http::client::TlsError;
use cache::{Cache, Entry};
use call::{Caller, Fault};
pub use call::{KeyServer, KeyServerError};

/// How many keys are fetched at once, for all sources together.
const FETCHES_MAX: usize = 8;
/// How many keys may be waited for, fetched or not yet.
const FLIGHTS_MAX: usize = 64;
/// How long a request waits for its key, whoever else waits for others: shorter than these senders wait for us.
const WAIT_MAX: Duration = Duration::from_secs(8);

/// Fetches and keeps keys. Clones share it.
#[derive(Clone)]
pub struct KeyFetcher(Arc<Inner>);

struct Inner {
    caller: Caller,
    clock: Arc<dyn Clock>,
    cache: Mutex<Cache>,
    flights: Mutex<HashMap<CacheKey, watch::Receiver<Option<Outcome>>>>,
    permits: Semaphore,
}

/// Whose key, and which. One source's key is not another's: two may ask different servers for the same id.
type CacheKey = (SourceName, String);

/// How a fetch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The key is here.
    Known,
    /// The sender has no such key.
    Unknown,
    /// It cannot be fetched now.
    Unavailable,
}

/// The keys of one source that are at hand.
pub struct SourceKeys<'a> {
    fetcher: &'a KeyFetcher,
    source: &'a SourceName,
}

impl KeyFetcher {
    /// A fetcher that finds hosts with `lookup`, or asks one server for everything.
    ///
    /// # Errors
    /// When no TLS can be set up.
    pub fn new(lookup: &Lookup, server: Option<KeyServer>, clock: Arc<dyn Clock>) -> Result<Self, TlsError> {
        Ok(Self(Arc::new(Inner {
            caller: Caller::new(lookup, server)?,
            clock,
            cache: Mutex::default(),
            flights: Mutex::default(),
            permits: Semaphore::new(FETCHES_MAX),
        })))
    }

    /// The keys of one source, for its verifier.
    pub fn keys_of<'a>(&'a self, source: &'a SourceName) -> SourceKeys<'a> {
        SourceKeys {
            fetcher: self,
            source,
        }
    }

    /// Forgets everything, and what is on its way as well: another configuration may ask other servers.
    pub fn clear(&self) {
        lock(&self.0.cache).clear();
        lock(&self.0.flights).clear();
    }

    /// Calls a URL that a sender wants called, within the same limits; `Known` if it answers 2xx.
    pub async fn confirm(&self, url: &str) -> Outcome {
        let Ok(_permit) = self.0.permits.try_acquire() else {
            return Outcome::Unavailable;
        };
        match self.0.caller.call(url, None).await {
            Ok(_) => Outcome::Known,
            Err(fault) => fault.outcome(),
        }
    }

    /// Fetches a key, unless somebody does already; then this waits for what comes of it.
    pub async fn fetch(&self, source: &SourceName, request: KeyRequest) -> Outcome {
        let key = (source.clone(), request.key_id.clone());
        match lock(&self.0.cache).get(&key, self.0.clock.elapsed()) {
            Some(Entry::Known(_)) => return Outcome::Known,
            Some(Entry::Unknown) => return Outcome::Unknown,
            None => {}
        }
        let Some(mut flight) = self.join(key, request) else {
            return Outcome::Unavailable;
        };
        match tokio::time::timeout(WAIT_MAX, flight.wait_for(Option::is_some)).await {
            Ok(Ok(outcome)) => outcome.unwrap_or(Outcome::Unavailable),
            Ok(Err(_)) | Err(_) => Outcome::Unavailable,
        }
    }

    /// The flight for a key; a new one where there is none. Nothing if too many are under way.
    fn join(&self, key: CacheKey, request: KeyRequest) -> Option<watch::Receiver<Option<Outcome>>> {
        let mut flights = lock(&self.0.flights);
        if let Some(flight) = flights.get(&key) {
            return Some(flight.clone());
        }
        if flights.len() >= FLIGHTS_MAX {
            return None;
        }
        let (landing, flight) = watch::channel(None);
        flights.insert(key.clone(), flight.clone());
        drop(flights);
        // On its own: a sender that hangs up must not take the key from those who wait with it.
        let fetcher = self.clone();
        tokio::spawn(async move {
            let outcome = fetcher.fly(&key, &request).await;
            lock(&fetcher.0.flights).remove(&key);
            // Nobody may be waiting any more.
            let _ = landing.send(Some(outcome));
        });
        Some(flight)
    }

    async fn fly(&self, key: &CacheKey, request: &KeyRequest) -> Outcome {
        let Ok(_permit) = self.0.permits.acquire().await else {
            return Outcome::Unavailable;
        };
        let epoch = lock(&self.0.cache).epoch();
        let (outcome, entry) = match self.0.caller.key(request).await {
            Ok(bytes) => (Outcome::Known, Some(Entry::Known(bytes))),
            Err(fault) => {
                tracing::warn!(source = %key.0, key = %request.key_id, %fault, "a key could not be fetched");
                if matches!(fault, Fault::Credentials) {
                    // An access token that was withdrawn before its time is asked for again.
                    lock(&self.0.cache).forget(&key.0);
                }
                let entry = (fault.outcome() == Outcome::Unknown).then_some(Entry::Unknown);
                (fault.outcome(), entry)
            }
        };
        if let Some(entry) = entry {
            lock(&self.0.cache).put(epoch, key.clone(), entry, self.0.clock.elapsed());
        }
        outcome
    }
}

impl Keys for SourceKeys<'_> {
    fn get(&self, key_id: &str) -> Option<Vec<u8>> {
        let inner = &self.fetcher.0;
        let key = (self.source.clone(), key_id.to_owned());
        match lock(&inner.cache).get(&key, inner.clock.elapsed()) {
            Some(Entry::Known(bytes)) => Some(bytes),
            Some(Entry::Unknown) | None => None,
        }
    }
}

impl std::fmt::Debug for KeyFetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyFetcher").finish_non_exhaustive()
    }
}

/// What a panicking thread left behind is whole: every change here is one step.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A bounded number of calls at a time, and one for all requests that wait for the same key.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use super::Outcome;

/// Calls that are in progress, by the key's id.
pub(super) struct Lane {
    fetches: Mutex<HashMap<String, SharedFetch>>,
    fetches_max: usize,
    permits: Semaphore,
}

/// What a call brought, once it has ended.
pub(super) type SharedFetch = watch::Receiver<Option<Outcome>>;

impl Lane {
    /// So many calls at once, for this many keys that may be waited for.
    pub(super) fn new(calls_max: usize, fetches_max: usize) -> Self {
        Self {
            fetches: Mutex::default(),
            fetches_max,
            permits: Semaphore::new(calls_max),
        }
    }

    /// Waits for a place to call from.
    pub(super) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    /// A place to call from, if one is free.
    pub(super) fn free_place(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.try_acquire().ok()
    }

    /// The call for a key; a new one where there is none. Nothing if too many are in progress or `admits` says no.
    pub(super) fn join<F>(
        self: &Arc<Self>,
        key_id: &str,
        admits: impl FnOnce() -> bool,
        call: impl FnOnce() -> F,
    ) -> Option<SharedFetch>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let mut fetches = self.fetches.lock();
        if let Some(fetch) = fetches.get(key_id) {
            return Some(fetch.clone());
        }
        if fetches.len() >= self.fetches_max || !admits() {
            return None;
        }
        let (landing, fetch) = watch::channel(None);
        fetches.insert(key_id.to_owned(), fetch.clone());
        drop(fetches);
        let (lane, key_id, call) = (Arc::clone(self), key_id.to_owned(), call());
        // On its own: a sender that hangs up must not take the key from those who wait with it.
        tokio::spawn(async move {
            let outcome = call.await;
            lane.fetches.lock().remove(&key_id);
            // No one may be waiting any more.
            let _ = landing.send(Some(outcome));
        });
        Some(fetch)
    }
}

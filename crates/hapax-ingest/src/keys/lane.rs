//! Limits the number of concurrent calls, and shares one call among all requests that wait for the same key.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use super::Outcome;

/// The calls in progress, by key id.
pub(super) struct Lane {
    fetches: Mutex<HashMap<String, SharedFetch>>,
    fetches_max: usize,
    permits: Semaphore,
}

/// The outcome of a call, once it has ended.
pub(super) type SharedFetch = watch::Receiver<Option<Outcome>>;

impl Lane {
    /// At most `calls_max` concurrent calls, for at most `fetches_max` keys in progress or waiting.
    pub(super) fn new(calls_max: usize, fetches_max: usize) -> Self {
        Self {
            fetches: Mutex::default(),
            fetches_max,
            permits: Semaphore::new(calls_max),
        }
    }

    /// Waits for a permit to make a call.
    pub(super) async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    /// A permit to make a call, if one is free.
    pub(super) fn free_place(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.try_acquire().ok()
    }

    /// The call for a key, started if necessary. `None` if too many are in progress or `admits` returns false.
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
        let (sender, fetch) = watch::channel(None);
        fetches.insert(key_id.to_owned(), fetch.clone());
        drop(fetches);
        let running = RunningFetch {
            lane: Arc::clone(self),
            key_id: key_id.to_owned(),
            outcome: None,
            sender,
        };
        // A separate task, so that a client that disconnects does not cancel the fetch for the others that wait for it.
        tokio::spawn(running.run(call()));
        Some(fetch)
    }
}

/// A call in progress. Its entry is removed however it ends: if it panics, those who wait see a closed channel, and the
/// next request starts another.
struct RunningFetch {
    lane: Arc<Lane>,
    key_id: String,
    outcome: Option<Outcome>,
    sender: watch::Sender<Option<Outcome>>,
}

impl RunningFetch {
    async fn run(mut self, call: impl Future<Output = Outcome>) {
        self.outcome = Some(call.await);
    }
}

impl Drop for RunningFetch {
    fn drop(&mut self) {
        self.lane.fetches.lock().remove(&self.key_id);
        // Perhaps no one is waiting any longer.
        let _ = self.sender.send(self.outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_fetch_that_panics_leaves_room_for_the_next() {
        let lane = Arc::new(Lane::new(1, 1));
        let start = |outcome: Option<Outcome>| {
            lane.join(
                "key",
                || true,
                || async move { outcome.expect("a fetch that panics") },
            )
            .unwrap()
        };
        for _ in 0..2 {
            assert!(start(None).wait_for(Option::is_some).await.is_err());
        }
        let mut fetch = start(Some(Outcome::Known));
        assert_eq!(
            *fetch.wait_for(Option::is_some).await.unwrap(),
            Some(Outcome::Known)
        );
        assert!(lane.fetches.lock().is_empty());
    }
}

//! What a store must provide to run the laws, and the runner of one law.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Timestamp};

use crate::Bench;
use crate::bench::Must;

/// A law that takes longer than this hangs: the store waits for something that never happens.
pub const LAW_LIMIT: Duration = Duration::from_secs(120);

/// A kind of store under test. One subject has one store open at a time.
#[async_trait]
pub trait Subject: Send + Sync + 'static {
    /// A new, empty store. Stores returned by earlier calls are no longer used.
    async fn fresh(&self) -> Arc<dyn Backend>;

    /// Crashes the store and starts it again on its durable state. `crashed` is the last reference to it; nothing may
    /// be released or flushed on the way.
    async fn reopen(&self, crashed: Arc<dyn Backend>) -> Arc<dyn Backend>;

    /// The time on the store's own clock.
    async fn now(&self) -> Timestamp;

    /// Returns once at least `duration` has passed on the store's own clock: a [`crate::ManualClock`] is advanced; a
    /// server's clock is polled.
    async fn pass(&self, duration: Duration);

    /// A lease that a law is willing to wait out with [`Subject::pass`]. Stores on a server's clock return a few
    /// hundred milliseconds.
    fn short_lease(&self) -> Duration {
        Duration::from_secs(30)
    }
}

/// Runs one law against a fresh store of `subject`, on its own runtime.
pub fn check(subject: Arc<dyn Subject>, law: impl AsyncFnOnce(&mut Bench)) {
    runtime().block_on(async {
        let mut bench = Bench::open(subject).await;
        tokio::time::timeout(LAW_LIMIT, law(&mut bench)).await.must();
    });
}

/// Several threads, so that concurrent calls really run concurrently.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .must()
}

//! What a store must provide to run the laws.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hapax_core::{Backend, Timestamp};

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

    /// Returns once at least `duration` has passed on the store's own clock. A server's clock is waited for; a subject
    /// with a [`crate::ManualClock`] advances it.
    async fn pass(&self, duration: Duration) {
        let until = self.now().await.plus(duration);
        loop {
            let now = self.now().await;
            if now >= until {
                return;
            }
            tokio::time::sleep(until.since(now)).await;
        }
    }

    /// A lease that a law is willing to wait out with [`Subject::pass`]. Stores on a server's clock return a few
    /// hundred milliseconds.
    fn short_lease(&self) -> Duration {
        Duration::from_secs(30)
    }
}

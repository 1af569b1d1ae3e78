//! Waiting: always for a condition, always with a limit.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// Nothing takes this long unless it is broken.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How often a condition is checked.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Polls until there is a value; a test that waited in vain says for what.
pub async fn eventually<T>(what: &str, limit: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(
            Instant::now() < deadline,
            "in {limit:?} it never came true: {what}"
        );
        sleep(LOOK_EVERY).await;
    }
}

/// Waits for a future that must finish in time.
pub async fn within<T>(what: &str, limit: Duration, future: impl Future<Output = T>) -> T {
    let Ok(value) = timeout(limit, future).await else {
        panic!("it did not end within {limit:?}: {what}");
    };
    value
}

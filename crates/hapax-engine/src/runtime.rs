//! Spawning and waiting, behind a trait so that the simulator can own both.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A boxed task.
pub type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// The async runtime, as the engine needs it.
pub trait Runtime: Send + Sync + 'static {
    /// Spawns a task.
    fn spawn(&self, task: BoxFuture);

    /// Completes after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture;
}

/// The tokio runtime of the caller.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn spawn(&self, task: BoxFuture) {
        tokio::spawn(task);
    }

    fn sleep(&self, duration: Duration) -> BoxFuture {
        Box::pin(tokio::time::sleep(duration))
    }
}

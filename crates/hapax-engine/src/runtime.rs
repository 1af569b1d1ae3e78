//! Spawning and waiting, behind a trait so that the simulator can own both.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// A task, on the heap.
pub type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// What the engine asks of an async runtime.
pub trait Runtime: Send + Sync + 'static {
    /// Runs a task beside the others.
    fn spawn(&self, task: BoxFuture);

    /// Ends after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture;
}

/// The tokio runtime this is called on.
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

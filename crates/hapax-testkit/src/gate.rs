//! A gate that the test opens: handlers wait behind it, so a test decides when they finish.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Closed at first. Clones share the gate.
#[derive(Clone)]
pub struct Gate(Arc<Semaphore>);

impl Gate {
    pub fn closed() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Lets everyone through from now on.
    pub fn open(&self) {
        self.0.close();
    }

    /// Lets this many through.
    pub fn let_through(&self, count: usize) {
        self.0.add_permits(count);
    }

    /// Waits until let through; an open gate stops no one.
    pub async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

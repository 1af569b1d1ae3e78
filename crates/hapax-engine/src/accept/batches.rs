//! The batches of requests that are in progress: how many the store is writing, and how many are not yet answered.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The batches in progress.
#[derive(Debug, Default)]
pub(super) struct Batches {
    progress: Mutex<Progress>,
    changed: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Batches that the store is writing.
    pub(super) writing: usize,
    /// Batches with requests that are not answered: those that the store is writing, and those being settled.
    pub(super) open: usize,
    /// Batches that the store has written since the start.
    pub(super) written: u64,
}

impl Batches {
    pub(super) fn progress(&self) -> Progress {
        *self.progress.lock()
    }

    /// Completes when a batch was written or answered since the last call.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Begins a batch.
    pub(super) fn begin(self: &Arc<Self>) -> InProgress {
        let mut progress = self.progress.lock();
        progress.writing += 1;
        progress.open += 1;
        drop(progress);
        InProgress {
            batches: Arc::clone(self),
            stage: Stage::Writing,
        }
    }
}

/// A batch in progress. It ends when it is dropped, also if its task is dropped or panics.
#[derive(Debug)]
pub(super) struct InProgress {
    batches: Arc<Batches>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Writing,
    Settling,
}

impl InProgress {
    /// The store has answered.
    pub(super) fn written(&mut self) {
        if self.stage == Stage::Settling {
            return;
        }
        self.stage = Stage::Settling;
        let mut progress = self.batches.progress.lock();
        progress.writing -= 1;
        progress.written += 1;
        drop(progress);
        self.batches.changed.notify_one();
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.written();
        self.batches.progress.lock().open -= 1;
        self.batches.changed.notify_one();
    }
}

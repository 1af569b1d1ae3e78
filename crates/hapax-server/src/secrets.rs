//! Watches for changed secrets: files by their content, commands by running them again.
//!
//! Contents are compared rather than modification times: Kubernetes swaps mounted files by a symlink, and file events
//! get lost on network file systems.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval};

use hapax_config::{Loader, SecretOrigin};

/// How often files are checked.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The task that watches. It ends when this is dropped.
pub(super) struct SecretWatch {
    changes: mpsc::Receiver<Vec<SecretOrigin>>,
    task: AbortHandle,
}

impl SecretWatch {
    pub(super) fn start(loader: Arc<Loader>) -> Self {
        let (news, changes) = mpsc::channel(1);
        let task = tokio::spawn(watch(loader, news)).abort_handle();
        Self { changes, task }
    }

    /// Waits for a change, and returns its origins.
    pub(super) async fn changed(&mut self) -> Vec<SecretOrigin> {
        match self.changes.recv().await {
            Some(changed) => changed,
            None => std::future::pending().await,
        }
    }
}

impl Drop for SecretWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(loader: Arc<Loader>, news: mpsc::Sender<Vec<SecretOrigin>>) {
    let mut looks = interval(LOOK_EVERY.min(loader.refresh_every()));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut refreshed = Instant::now();
    loop {
        looks.tick().await;
        let is_due = refreshed.elapsed() >= loader.refresh_every();
        if is_due {
            refreshed = Instant::now();
        }
        let looked = Arc::clone(&loader);
        // Disks and commands may be slow, and must not hold up requests.
        let look = spawn_blocking(move || {
            let mut changed = looked.changed_files();
            if is_due {
                changed.extend(looked.refresh_commands());
            }
            changed
        });
        let changed = look.await.unwrap_or_default();
        if !changed.is_empty() && news.send(changed).await.is_err() {
            return;
        }
    }
}

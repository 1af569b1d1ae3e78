//! Runs a step of the alerts every few seconds, in its own task.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use hapax_alerts::Alerts;

pub(super) struct AlertLoop {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl AlertLoop {
    pub(super) fn start(alerts: Arc<Alerts>) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            while stopped.run_until_cancelled(alerts.step()).await.is_some() {
                let pause = tokio::time::sleep(alerts.every());
                stopped.run_until_cancelled(pause).await;
            }
            alerts.rest().await;
        });
        Self { stop, task }
    }

    /// Ends the loop. Messages in flight may finish.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        // It fails only if the loop panicked; then there is nothing left to wait for.
        let _ = self.task.await;
    }
}

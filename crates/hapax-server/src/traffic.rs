//! Writes this process's traffic to the store, where the charts of every replica find it.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Backend;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use hapax_telemetry::Metrics;

/// How often it is written; a crash loses at most this much.
const WRITE_EVERY: Duration = Duration::from_secs(10);
/// How long a write may take; then it is retried with the next one.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// The most rows in one write.
const ROWS_MAX: usize = 500;

pub(super) struct Writer {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Writer {
    pub(super) fn start(store: Arc<dyn Backend>, metrics: Arc<Metrics>) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            while stopped
                .run_until_cancelled(tokio::time::sleep(WRITE_EVERY))
                .await
                .is_some()
            {
                write(store.as_ref(), &metrics).await;
            }
            write(store.as_ref(), &metrics).await;
        });
        Self { stop, task }
    }

    /// Writes the remaining rows and ends.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        // It fails only if the loop panicked; then there is nothing left to wait for.
        let _ = self.task.await;
    }
}

async fn write(store: &dyn Backend, metrics: &Metrics) {
    let book = metrics.traffic();
    for rows in book.take_changed().chunks(ROWS_MAX) {
        let written = tokio::time::timeout(WRITE_TIMEOUT, store.put_traffic(rows.to_vec())).await;
        if !matches!(written, Ok(Ok(()))) {
            book.was_not_written(rows);
            tracing::debug!(rows = rows.len(), "traffic could not be written; retrying");
        }
    }
}

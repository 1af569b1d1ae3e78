//! Re-encrypts all rows of an encrypted store with its first key, in the background and with a fraction of the store's
//! time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::Clock;
use hapax_seal::{Reencrypted, Sealed};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use hapax_telemetry::Metrics;

/// How often it checks whether there is something to do.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// How many times as long as a step it rests after it: the store spends at most a quarter of its time on this.
const RESTS: u32 = 3;

pub(super) struct Reencryption {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Reencryption {
    pub(super) fn start(store: Arc<Sealed>, metrics: Arc<Metrics>, clock: Arc<dyn Clock>) -> Self {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut rest = Duration::ZERO;
            while stopped
                .run_until_cancelled(tokio::time::sleep(rest))
                .await
                .is_some()
            {
                rest = step(&store, &metrics, &*clock).await;
            }
            // If this fails, the other replicas wait a minute longer.
            let _ = store.leave().await;
        });
        Self { stop, task }
    }

    /// Ends the loop after the current step.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        // It fails only if the loop panicked; then there is nothing left to wait for.
        let _ = self.task.await;
    }
}

/// Runs one step; returns how long to rest after it.
async fn step(store: &Sealed, metrics: &Metrics, clock: &dyn Clock) -> Duration {
    let began = Instant::now();
    match store.reencrypt(clock.now()).await {
        Ok(Reencrypted::Some { values }) => {
            metrics.reencrypted(values);
            began.elapsed() * RESTS
        }
        Ok(Reencrypted::Nothing) => {
            if let Ok(Some(counted)) = store.counted().await {
                metrics.encrypted_values(&counted);
            }
            LOOK_EVERY
        }
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "rows were not re-encrypted; retrying in a minute"
            );
            LOOK_EVERY
        }
    }
}

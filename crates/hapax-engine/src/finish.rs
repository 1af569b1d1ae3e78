//! Finish: writes the outcomes of attempts, many in one write, each only while its lease holds.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::AttemptOutcome;
use hapax_core::store::Written;
use tokio::sync::mpsc;

use crate::engine::Inner;
use crate::finished::Finished;
use crate::observe::Observation;

/// The pause before a failed write is retried.
const RETRY_EVERY: Duration = Duration::from_millis(200);

impl Inner {
    pub(crate) async fn finish_loop(self: Arc<Self>, mut queue: mpsc::Receiver<Finished>) {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                _ = queue.recv_many(&mut batch, self.limits.finish_batch) => {}
                // Stopped only when every attempt has ended, so the queue holds everything that is left.
                () = self.stop.cancelled() => {
                    queue.close();
                    while queue.recv_many(&mut batch, self.limits.finish_batch).await > 0 {
                        self.finish_batch(std::mem::take(&mut batch)).await;
                    }
                    return;
                }
            }
            self.finish_batch(std::mem::take(&mut batch)).await;
        }
    }

    async fn finish_batch(&self, batch: Vec<Finished>) {
        if batch.is_empty() {
            return;
        }
        fail::fail_point!("finish.before_store");
        let results = self.write_outcomes(&batch).await;
        fail::fail_point!("finish.after_store");
        // Also if they were dropped: then the leases must expire.
        for finished in &batch {
            self.held_leases.end(&finished.report.hold);
        }
        let mut wake = false;
        for (finished, written) in batch.iter().zip(results) {
            match written {
                Written::Applied => {
                    self.watchers.finished(finished.report.hold.event);
                    wake |= self.follow_up(finished);
                }
                Written::LeaseLost => {
                    self.observe(&Observation::LeaseLost {
                        delivery: &finished.leased,
                    });
                }
            }
        }
        if wake {
            self.dispatch.notify_one();
        }
    }

    /// Retries until the store has written them. Returns the result for each, or nothing if they are dropped.
    async fn write_outcomes(&self, batch: &[Finished]) -> Vec<Written> {
        let mut stopping_tries = 0;
        loop {
            let reports = batch.iter().map(|finished| finished.report.clone()).collect();
            match self.parts.store.finish(reports).await {
                Ok(results) => return results,
                Err(error) => {
                    self.observe(&Observation::StoreFailed {
                        during: "recording outcomes",
                        error: &error,
                    });
                    // While stopping, an unavailable store must not hold up the process: the leases expire, and the
                    // deliveries are made again under the same keys.
                    stopping_tries += u32::from(self.stop.is_cancelled());
                    if stopping_tries > 3 || !error.is_retryable() {
                        return Vec::new();
                    }
                }
            }
            self.parts.runtime.sleep(RETRY_EVERY).await;
        }
    }

    /// Marks deliveries that may be due now or later. Returns whether the dispatcher should run.
    fn follow_up(&self, finished: &Finished) -> bool {
        match finished.report.outcome {
            AttemptOutcome::Retry { after } => finished.runtime.due_at(self.elapsed() + after),
            // The next one in its lane.
            AttemptOutcome::Completed | AttemptOutcome::Dead { .. } if finished.leased.lane.is_some() => {
                finished.runtime.add_due();
            }
            AttemptOutcome::Completed | AttemptOutcome::Dead { .. } => return false,
            AttemptOutcome::Release => finished.runtime.add_due(),
        }
        true
    }
}

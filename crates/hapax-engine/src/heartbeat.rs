//! Heartbeats: renews each lease after a third of its time, and after the attempt until its outcome is written, so that
//! a slow write does not undo a delivery. An attempt whose lease is lost is aborted, because another process may be
//! running it.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::store::Written;

use crate::engine::Inner;
use crate::observe::Observation;

/// The shortest time between two checks.
const TICK_MIN: Duration = Duration::from_millis(100);
/// The longest time between two checks.
const TICK_MAX: Duration = Duration::from_secs(5);
/// Leases renewed in one write.
const EXTEND_MAX: usize = 1_000;

impl Inner {
    pub(crate) async fn heartbeat_loop(self: Arc<Self>) {
        while !self.rest(self.heartbeat_tick()).await {
            self.beat().await;
        }
    }

    fn heartbeat_tick(&self) -> Duration {
        let plan = self.plan.load();
        let shortest = plan
            .destinations
            .values()
            .map(|runtime| runtime.with_settings(|destination| destination.lease))
            .min();
        shortest.map_or(TICK_MAX, |lease| (lease / 6).clamp(TICK_MIN, TICK_MAX))
    }

    async fn beat(&self) {
        let now = self.elapsed();
        for (lease_for, holds) in self.held_leases.due(now) {
            for holds in holds.chunks(EXTEND_MAX) {
                match self.parts.store.extend(holds.to_vec(), lease_for).await {
                    Ok(results) => {
                        for (hold, written) in holds.iter().zip(results) {
                            match written {
                                Written::Applied => self.held_leases.renewed(hold, now),
                                Written::LeaseLost => self.held_leases.lost(hold),
                            }
                        }
                    }
                    Err(error) => self.observe(&Observation::StoreFailed {
                        during: "renewing leases",
                        error: &error,
                    }),
                }
            }
        }
        // The store was unreachable for a whole lease: others may have taken over.
        for hold in self.held_leases.overdue(self.elapsed()) {
            self.held_leases.lost(&hold);
        }
    }
}

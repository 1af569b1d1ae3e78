//! Retain: delete what has outlived its window, a little at a time, so that accepts never wait.
//!
//! Stops when the wall clock and the monotonic one disagree by more than an hour since the start:
//! a clock that jumped a month ahead must not empty the ledger.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Timestamp;
use hapax_core::store::{PurgeOrder, PurgeWindow};

use crate::engine::Inner;
use crate::observe::Observation;

const DISAGREEMENT_MAX: Duration = Duration::from_secs(3600);
/// The pause between two portions when more is left.
const PORTION_PAUSE: Duration = Duration::from_millis(100);

impl Inner {
    pub(crate) async fn retain_loop(self: Arc<Self>) {
        let started = (self.parts.clock.now(), self.elapsed());
        let mut wait = self.limits.retain_every;
        while !self.rest(wait).await {
            wait = self.limits.retain_every;
            let now = self.parts.clock.now();
            if let Some(disagreement) = disagreement(started, (now, self.elapsed())) {
                self.observe(&Observation::PurgeHeld { disagreement });
                continue;
            }
            match self.parts.store.purge(self.purge_order(now)).await {
                Ok(purged) => {
                    if purged.more {
                        wait = PORTION_PAUSE;
                    }
                    self.observe(&Observation::Purged(purged));
                }
                Err(error) => self.observe(&Observation::StoreFailed {
                    during: "purging",
                    error: &error,
                }),
            }
        }
    }

    fn purge_order(&self, now: Timestamp) -> PurgeOrder {
        let plan = self.plan.load();
        let windows = plan
            .sources
            .iter()
            .map(|(source, settings)| PurgeWindow {
                source: source.clone(),
                payload_before: now.minus(settings.route.payload_retention),
                dead_before: now.minus(settings.route.dead_retention),
            })
            .collect();
        PurgeOrder {
            windows,
            ledger_before: now,
            limit: self.limits.purge_rows,
        }
    }
}

/// By how much the clocks have drifted apart, if it is too much.
fn disagreement(started: (Timestamp, Duration), now: (Timestamp, Duration)) -> Option<Duration> {
    let measured = now.1.saturating_sub(started.1);
    let expected = started.0.plus(measured);
    let disagreement = now.0.since(expected).max(expected.since(now.0));
    (disagreement > DISAGREEMENT_MAX).then_some(disagreement)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn clocks_that_disagree_by_more_than_an_hour_are_noticed_either_way() {
        let started = (Timestamp::from_seconds(1_000_000), Duration::ZERO);
        let at = |wall: i64| (Timestamp::from_seconds(wall), HOUR);
        assert_eq!(disagreement(started, at(1_000_000 + 3600)), None);
        assert_eq!(disagreement(started, at(1_000_000 + 2 * 3600)), None);
        assert_eq!(disagreement(started, at(1_000_000 + 4 * 3600)), Some(3 * HOUR));
        assert_eq!(disagreement(started, at(1_000_000 - 3600)), Some(2 * HOUR));
    }
}

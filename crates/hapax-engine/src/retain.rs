//! Retain: deletes expired rows, in portions small enough that accepts never wait, and as fast as events arrive, so
//! that expired rows never pile up.
//!
//! Stops when the wall clock and the monotonic clock have diverged by more than an hour since the start: a clock that
//! jumped a month ahead must not empty the ledger.

use std::sync::Arc;
use std::time::Duration;

use hapax_core::Timestamp;
use hapax_core::store::{PurgeOrder, PurgeWindow, Purged};

use crate::engine::Inner;
use crate::observe::Observation;

const DISAGREEMENT_MAX: Duration = Duration::from_secs(3600);
/// The target duration of a portion. The store subdivides it, so no accept waits for all of it.
const PORTION: Duration = Duration::from_millis(200);
/// The most rows in a portion, however quick the store seems.
const ROWS_MAX: u32 = 10_000;
/// Once behind for this long, it no longer pauses.
const PATIENCE: Duration = Duration::from_secs(5);
/// The shortest pause between two portions, so that others get their turn.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// How soon a failed portion is retried.
const AGAIN: Duration = Duration::from_secs(1);

impl Inner {
    pub(crate) async fn retain_loop(self: Arc<Self>) {
        let started = (self.parts.clock.now(), self.elapsed());
        let mut pace = Pace::new(self.limits.purge_rows);
        let mut wait = self.limits.retain_every;
        while !self.rest(wait).await {
            wait = self.limits.retain_every;
            let now = self.parts.clock.now();
            let began = self.elapsed();
            if let Some(disagreement) = disagreement(started, (now, began)) {
                self.observe(&Observation::PurgeHeld { disagreement });
                continue;
            }
            match self.parts.store.purge(self.purge_order(now, pace.rows)).await {
                Ok(purged) => {
                    if let Some(pause) = pace.pause_after(&purged, began, self.elapsed()) {
                        wait = pause;
                    }
                    self.observe(&Observation::Purged(purged));
                }
                Err(error) => {
                    wait = wait.min(AGAIN);
                    self.observe(&Observation::StoreFailed {
                        during: "purging",
                        error: &error,
                    });
                }
            }
        }
    }

    fn purge_order(&self, now: Timestamp, limit: u32) -> PurgeOrder {
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
            limit,
        }
    }
}

/// How many rows to delete at a time, and how long to leave the store to others in between: measured, not guessed.
#[derive(Debug)]
struct Pace {
    rows: u32,
    rows_min: u32,
    /// Since when each portion has left more to delete.
    behind_since: Option<Duration>,
}

impl Pace {
    const fn new(rows: u32) -> Self {
        Self {
            rows,
            rows_min: rows,
            behind_since: None,
        }
    }

    /// The pause before the next portion; none if nothing is left. Initially as long as the portion took; it shrinks
    /// the longer a backlog lasts.
    fn pause_after(&mut self, purged: &Purged, began: Duration, ended: Duration) -> Option<Duration> {
        if !purged.more {
            self.behind_since = None;
            return None;
        }
        let took = ended.saturating_sub(began);
        self.resize(purged, took);
        let behind = ended.saturating_sub(*self.behind_since.get_or_insert(began));
        let patience_left = 1.0 - behind.div_duration_f64(PATIENCE).min(1.0);
        Some(took.mul_f64(patience_left).max(PAUSE_MIN))
    }

    /// Doubles or halves the next portion if this one was far from its target duration.
    fn resize(&mut self, purged: &Purged, took: Duration) {
        // If something else took the time or ended the portion, its size says nothing.
        let was_full = purged.events + purged.ledger >= u64::from(self.rows) / 2;
        if took > PORTION * 2 {
            self.rows = (self.rows / 2).max(self.rows_min);
        } else if took < PORTION / 2 && was_full {
            self.rows = (self.rows.saturating_mul(2)).min(ROWS_MAX.max(self.rows_min));
        }
    }
}

/// How far the clocks have drifted apart, if it is too far.
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

    const MORE: Purged = Purged {
        events: 1_000_000,
        ledger: 0,
        more: true,
    };

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn portions_grow_where_they_are_quick_and_shrink_where_they_are_slow() {
        let mut pace = Pace::new(500);
        pace.pause_after(&MORE, millis(0), millis(5));
        pace.pause_after(&MORE, millis(10), millis(60));
        assert_eq!(pace.rows, 2_000);
        pace.pause_after(&MORE, millis(60), millis(260));
        assert_eq!(pace.rows, 2_000, "it takes as long as it should");
        for _ in 0..3 {
            pace.pause_after(&MORE, millis(0), millis(900));
        }
        assert_eq!(
            pace.rows, 500,
            "never below the initial size: it would not keep up"
        );
        for _ in 0..20 {
            pace.pause_after(&MORE, millis(0), millis(1));
        }
        assert_eq!(pace.rows, ROWS_MAX);
    }

    #[test]
    fn a_portion_that_found_little_says_nothing_about_its_size() {
        let mut pace = Pace::new(500);
        let little = Purged { events: 3, ..MORE };
        pace.pause_after(&little, millis(0), millis(1));
        assert_eq!(pace.rows, 500);
    }

    #[test]
    fn pauses_get_shorter_the_longer_there_is_more_and_begin_again_once_there_is_not() {
        let mut pace = Pace::new(500);
        let mut pause_at = |at| pace.pause_after(&MORE, millis(at), millis(at + 50));
        let first = pause_at(0).unwrap();
        let later = pause_at(2_500).unwrap();
        assert!(first > later && later > PAUSE_MIN, "{first:?}, then {later:?}");
        assert_eq!(pause_at(60_000), Some(PAUSE_MIN));
        let done = Purged { more: false, ..MORE };
        assert_eq!(pace.pause_after(&done, millis(0), millis(50)), None);
        assert_eq!(
            pace.pause_after(&MORE, millis(70_000), millis(70_050)),
            Some(first)
        );
    }
}

//! What the admin port reads from the process's counters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::store::{Counts, Error, Span, TrafficRow};
use hapax_core::{Backend, Timestamp};
use tokio::sync::Mutex;

use super::views::RetentionView;
use crate::telemetry::Refusal;

/// How long counts are good for a scrape: counting a large ledger is not free.
const COUNTS_KEPT: Duration = Duration::from_secs(5);
/// A scrape waits this long for the store, and then shows what it knew last.
const COUNTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The counters of this process, since its start.
pub trait Meter: Send + Sync + 'static {
    /// Everything, in the text format of Prometheus, with the gauges that only the store knows.
    fn render(&self, counts: &Counts, now: Timestamp) -> String;

    /// What arrived, for each source that anything came from.
    fn arrivals(&self) -> Vec<Arrivals>;

    /// The rows of a span as they are in the store, with what this process has not written yet.
    fn traffic_on_top_of(&self, stored: Vec<TrafficRow>, span: Span) -> Vec<TrafficRow>;

    /// The last refusals of a source, newest first; of
    /// [`UNKNOWN_SOURCE`](crate::telemetry::metrics::UNKNOWN_SOURCE) those of names that no source has.
    fn refusals(&self, source: &str) -> Vec<Refusal>;

    /// What retention deleted.
    fn purged(&self) -> RetentionView;
}

/// The store's counts for scrapes. Metrics must answer above all when the store does not.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct KnownCounts(Arc<Mutex<Option<(Instant, Counts)>>>);

impl KnownCounts {
    pub(in crate::http) async fn read(&self, store: &dyn Backend) -> Counts {
        let mut known = self.0.lock().await;
        let is_fresh = known.as_ref().is_some_and(|(at, _)| at.elapsed() < COUNTS_KEPT);
        if !is_fresh && let Ok(Ok(counts)) = tokio::time::timeout(COUNTS_TIMEOUT, store.counts()).await {
            *known = Some((Instant::now(), counts));
        }
        known
            .as_ref()
            .map(|(_, counts)| counts.clone())
            .unwrap_or_default()
    }
}

/// The store's counts for pages: exact, unless counting takes long; then those of a moment ago.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct RecentCounts(Arc<Mutex<Option<Counted>>>);

/// Counts, when they were counted, and how long that took.
#[derive(Debug)]
struct Counted {
    at: Instant,
    took: Duration,
    counts: Counts,
}

/// Counting that takes no longer is done for each page.
const COUNTING_QUICK: Duration = Duration::from_millis(50);
/// How many times as long as it took to count, the counts stand: so little of the time goes into counting.
const COUNTS_STAND: u32 = 20;

impl RecentCounts {
    /// Pages that are asked for at once wait for one count.
    pub(in crate::http) async fn read(&self, store: &dyn Backend) -> Result<Counts, Error> {
        let mut known = self.0.lock().await;
        if let Some(counted) = known.as_ref().filter(|counted| counted.stands()) {
            return Ok(counted.counts.clone());
        }
        let started = Instant::now();
        let counts = store.counts().await?;
        *known = Some(Counted {
            at: Instant::now(),
            took: started.elapsed(),
            counts: counts.clone(),
        });
        Ok(counts)
    }
}

impl Counted {
    fn stands(&self) -> bool {
        let stands_for = (self.took * COUNTS_STAND).min(COUNTS_KEPT);
        self.took > COUNTING_QUICK && self.at.elapsed() < stands_for
    }
}

/// What arrived from one source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The source's name.
    pub source: String,
    /// New events.
    pub accepted: u64,
    /// Copies.
    pub duplicates: u64,
    /// Other bodies under a known id.
    pub conflicts: u64,
    /// Refused requests.
    pub rejected: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stand_for_a_moment_only_where_counting_takes_long() {
        let after = |took| Counted {
            at: Instant::now(),
            took,
            counts: Counts::default(),
        };
        assert!(!after(Duration::from_millis(1)).stands());
        assert!(after(Duration::from_secs(1)).stands());
        let old = Instant::now().checked_sub(COUNTS_KEPT).unwrap();
        let aged = Counted {
            at: old,
            ..after(Duration::from_secs(1))
        };
        assert!(!aged.stands());
    }
}

//! The counts of the store, counted no more often than needed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hapax_core::Backend;
use hapax_core::store::{Counts, Error};
use tokio::sync::Mutex;

/// How long a scrape uses cached counts: counting a large ledger is not free.
const COUNTS_KEPT: Duration = Duration::from_secs(5);
/// How long a scrape waits for the store before it uses the last known counts.
const COUNTS_TIMEOUT: Duration = Duration::from_secs(2);
/// Up to this duration, counting is quick and is done for each page.
const COUNTING_QUICK: Duration = Duration::from_millis(50);
/// Counts are reused for this many times the duration of counting.
const COUNTS_STAND: u32 = 20;
/// Counts older than this are not shown: a page waits for new ones.
const COUNTS_OLD: Duration = Duration::from_secs(60);

/// The counts of the store. If counting is quick, they are exact. If it is slow (a backlog of a million), pages show
/// recent counts immediately while they are refreshed in the background.
#[derive(Clone, Debug, Default)]
pub struct StoreCounts {
    known: Arc<parking_lot::Mutex<Option<Counted>>>,
    /// Locked while counting, so that concurrent callers share one count or use the cached one.
    counting: Arc<Mutex<()>>,
}

/// Counts, when they were counted, and how long that took.
#[derive(Clone, Debug)]
struct Counted {
    at: Instant,
    took: Duration,
    counts: Counts,
}

impl StoreCounts {
    /// The counts for a page.
    pub async fn read(&self, store: &Arc<dyn Backend>) -> Result<Counts, Error> {
        match self.known() {
            Some(counted) if counted.is_good() => Ok(counted.counts),
            Some(counted) if counted.will_do() => {
                self.refresh(store);
                Ok(counted.counts)
            }
            Some(_) | None => self.count(store).await,
        }
    }

    /// The counts for a scrape, which must succeed especially if the store does not answer: then with the last known
    /// counts.
    pub async fn scrape(&self, store: &Arc<dyn Backend>) -> Counts {
        let known = self.known();
        if let Some(counted) = known
            .as_ref()
            .filter(|counted| counted.at.elapsed() < COUNTS_KEPT)
        {
            return counted.counts.clone();
        }
        match tokio::time::timeout(COUNTS_TIMEOUT, self.count(store)).await {
            Ok(Ok(counts)) => counts,
            Ok(Err(_)) | Err(_) => known.map(|counted| counted.counts).unwrap_or_default(),
        }
    }

    fn known(&self) -> Option<Counted> {
        self.known.lock().clone()
    }

    /// Counts in the background, unless a count is already running.
    fn refresh(&self, store: &Arc<dyn Backend>) {
        if self.counting.try_lock().is_err() {
            return;
        }
        let (counts, store) = (self.clone(), Arc::clone(store));
        // A failure is reported to the next caller that waits for a count.
        tokio::spawn(async move { drop(counts.count(&store).await) });
    }

    async fn count(&self, store: &Arc<dyn Backend>) -> Result<Counts, Error> {
        let asked = Instant::now();
        let _one_at_a_time = self.counting.lock().await;
        // The previous holder of the lock may have counted after this call began.
        if let Some(counted) = self.known().filter(|counted| counted.at >= asked + counted.took) {
            return Ok(counted.counts);
        }
        let started = Instant::now();
        let counts = store.counts().await?;
        *self.known.lock() = Some(Counted {
            at: Instant::now(),
            took: started.elapsed(),
            counts: counts.clone(),
        });
        Ok(counts)
    }
}

impl Counted {
    /// Whether these counts can be reused: little time should be spent on counting.
    fn is_good(&self) -> bool {
        let stands_for = (self.took * COUNTS_STAND).min(COUNTS_KEPT);
        self.took > COUNTING_QUICK && self.at.elapsed() < stands_for
    }

    /// Whether a page shows these counts rather than waiting.
    fn will_do(&self) -> bool {
        self.took > COUNTING_QUICK && self.at.elapsed() < COUNTS_OLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(took: Duration, ago: Duration) -> Counted {
        Counted {
            at: Instant::now().checked_sub(ago).unwrap(),
            took,
            counts: Counts::default(),
        }
    }

    #[test]
    fn counts_stand_for_a_moment_only_where_counting_takes_long() {
        let (quick, slow) = (Duration::from_millis(1), Duration::from_secs(1));
        assert!(!counted(quick, Duration::ZERO).is_good());
        assert!(!counted(quick, Duration::ZERO).will_do());
        assert!(counted(slow, Duration::ZERO).is_good());
        assert!(!counted(slow, COUNTS_KEPT).is_good());
        assert!(counted(slow, COUNTS_KEPT).will_do());
        assert!(!counted(slow, COUNTS_OLD).will_do());
    }

    #[tokio::test]
    async fn a_page_shows_what_is_known_of_a_slow_store_while_somebody_counts_anew() {
        let folder = tempfile::tempdir().unwrap();
        let clock: Arc<dyn hapax_core::Clock> = Arc::new(hapax_core::SystemClock::default());
        let options = hapax_store_sqlite::Options::new(clock);
        let store = hapax_store_sqlite::SqliteStore::open(&folder.path().join("hapax.db"), options).unwrap();
        let store: Arc<dyn Backend> = Arc::new(store);
        let counts = StoreCounts::default();
        let mut old = counted(Duration::from_secs(1), COUNTS_KEPT);
        old.counts.events = 7;
        *counts.known.lock() = Some(old);
        assert_eq!(counts.read(&store).await.unwrap().events, 7);
        while counts.known().unwrap().counts.events == 7 {
            tokio::task::yield_now().await;
        }
        assert_eq!(counts.read(&store).await.unwrap().events, 0);
    }
}

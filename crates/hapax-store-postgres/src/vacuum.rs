//! Vacuuming `hapax.work` as often as its rows turn over.
//!
//! A row of this table lives for milliseconds. Autovacuum wakes up once a minute; at thousands of deliveries a second,
//! every lease then has to pass hundreds of thousands of dead rows, and throughput falls by half.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use parking_lot::Mutex;

use crate::failure::Failure;
use crate::session::Session;
use crate::step::Runner;

// It blocks nobody. It returns no pages to the system, which would block, and does nothing while another replica is
// vacuuming.
const VACUUM: &str = "VACUUM (SKIP_LOCKED, TRUNCATE false) hapax.work";

/// With a long backlog it reads much to remove little; it then rests for this many times as long as it took.
const REST: u32 = 10;

/// Rows finished since the last vacuum.
#[derive(Debug, Default)]
pub(crate) struct Vacuum {
    finished: AtomicU64,
    under_way: AtomicBool,
    resting_until: Mutex<Option<Instant>>,
}

impl Vacuum {
    /// Reports that `rows` more rows are dead. Starts a vacuum in the background once there are `after` of them.
    pub(crate) fn finished(self: &Arc<Self>, rows: usize, after: u64, runner: &Runner) {
        let finished = self.finished.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
        if finished < after || self.rests(Instant::now()) || self.under_way.swap(true, Ordering::AcqRel) {
            return;
        }
        self.finished.store(0, Ordering::Relaxed);
        let (vacuum, runner) = (Arc::clone(self), runner.clone());
        tokio::spawn(async move {
            let started = Instant::now();
            if let Err(error) = runner.run(&(), |session, ()| run(session).boxed()).await {
                tracing::debug!(%error, "hapax.work was not vacuumed; autovacuum will do it later");
            }
            vacuum.rest(Instant::now(), started.elapsed());
            vacuum.under_way.store(false, Ordering::Release);
        });
    }

    fn rest(&self, now: Instant, took: Duration) {
        let mut until = self.resting_until.lock();
        *until = now.checked_add(took * REST);
    }

    fn rests(&self, now: Instant) -> bool {
        let until = *self.resting_until.lock();
        until.is_some_and(|until| now < until)
    }
}

async fn run(session: &Session) -> Result<(), Failure> {
    session.rows_of(VACUUM, &[]).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_for_ten_times_as_long_as_it_took() {
        let vacuum = Vacuum::default();
        let now = Instant::now();
        assert!(!vacuum.rests(now));
        vacuum.rest(now, Duration::from_secs(2));
        assert!(vacuum.rests(now + Duration::from_secs(19)));
        assert!(!vacuum.rests(now + Duration::from_secs(20)));
    }
}

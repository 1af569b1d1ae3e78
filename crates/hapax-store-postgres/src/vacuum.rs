//! Vacuuming the table of unfinished work as often as it has been worked through.
//!
//! A row of work lives for milliseconds. Autovacuum looks once a minute; at thousands of deliveries a second, hundreds
//! of thousands of dead rows lie in the way of every lease by then, and rates fall to half.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::FutureExt;

use crate::failure::Failure;
use crate::session::Session;
use crate::step::Runner;

// It blocks nobody, gives no pages back to the system, which would, and does nothing while another replica is at it.
const VACUUM: &str = "VACUUM (SKIP_LOCKED, TRUNCATE false) hapax.work";

/// How much was finished since the last time.
#[derive(Debug, Default)]
pub(crate) struct Vacuum {
    finished: AtomicU64,
    under_way: AtomicBool,
}

impl Vacuum {
    /// So many rows are dead now; begins when there are `after` of them, beside everything else.
    pub(crate) fn finished(self: &Arc<Self>, rows: usize, after: u64, runner: &Runner) {
        let finished = self.finished.fetch_add(rows as u64, Ordering::Relaxed) + rows as u64;
        if finished < after || self.under_way.swap(true, Ordering::AcqRel) {
            return;
        }
        self.finished.store(0, Ordering::Relaxed);
        let (vacuum, runner) = (Arc::clone(self), runner.clone());
        tokio::spawn(async move {
            if let Err(error) = runner.run(&(), |session, ()| run(session).boxed()).await {
                tracing::debug!(%error, "hapax.work was not vacuumed; autovacuum will do it later");
            }
            vacuum.under_way.store(false, Ordering::Release);
        });
    }
}

async fn run(session: &Session) -> Result<(), Failure> {
    session.rows_of(VACUUM, &[]).await.map(drop)
}

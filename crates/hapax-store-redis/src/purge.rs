//! Purge: deletes events and ledger entries past their window, payload before ledger, and never unfinished deliveries.
//!
//! The caller sets the windows and may change them, and a ledger entry always outlives its event: so entries are
//! deleted here and not by Redis expiry.
//!
//! Shards are walked concurrently, each with its own share, and so are the events and the ledger of each: none waits
//! for another that lags behind.

mod events;
mod ledger;

pub(crate) use events::conflict_key;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{try_join, try_join_all};
use hapax_core::store::{PurgeOrder, Purged};
use parking_lot::Mutex;

use crate::failure::Failure;
use crate::link::Link;
use crate::shards::Shard;
use crate::{Options, audit, bodies, jobs};

/// Rows of a walk that are processed concurrently.
const PAGE: usize = 1_000;
/// Rows in one call, during which the server serves nobody else.
const AT_ONCE: usize = 100;
/// How often small tables are swept when there is always something else to delete.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The position of the walk through each shard.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    walks: Mutex<BTreeMap<Shard, Walk>>,
    swept: Mutex<Option<Instant>>,
}

/// The walk through a shard.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    events: events::Reached,
    ledger: Option<ledger::Reached>,
    /// Whether this walk through the ledger kept an entry for its event.
    kept: bool,
    /// Whether an event was deleted during this walk through the ledger.
    deleted: bool,
    /// Whether this pass has reached its end.
    is_over: bool,
}

/// What one walk may still do.
struct Budget {
    /// Rows that may be deleted.
    rows: usize,
    /// Rows that may be examined.
    looks: usize,
}

impl Budget {
    const fn is_spent(&self) -> bool {
        self.rows == 0 || self.looks == 0
    }

    /// Rows of the next page.
    fn page(&self) -> usize {
        PAGE.min(self.looks).min(self.rows).max(1)
    }

    const fn spend(&mut self, looked: usize, deleted: usize) {
        self.looks = self.looks.saturating_sub(looked);
        self.rows = self.rows.saturating_sub(deleted);
    }
}

pub(crate) async fn purge(
    link: &Arc<Link>,
    options: &Options,
    progress: &Progress,
    order: &PurgeOrder,
) -> Result<Purged, Failure> {
    let mut open: Vec<(Shard, Walk)> = {
        let walks = progress.walks.lock();
        let walk_of = |shard| (shard, walks.get(&shard).copied().unwrap_or_default());
        let all = link.shards().all().map(walk_of);
        all.filter(|(_, walk)| !walk.is_over).collect()
    };
    let mut purged = Purged::default();
    loop {
        let left = u64::from(order.limit).saturating_sub(purged.events.max(purged.ledger)) as usize;
        if left == 0 || open.is_empty() {
            break;
        }
        let these: Vec<(Shard, Walk)> = open.drain(..open.len().min(left)).collect();
        let share = left / these.len();
        let walks = these
            .into_iter()
            .map(|(shard, walk)| walk_on(link, shard, order, walk, share, options.purge_scan_max));
        for (shard, walk, gone) in try_join_all(walks).await? {
            purged.events += gone.events;
            purged.ledger += gone.ledger;
            progress.walks.lock().insert(shard, walk);
        }
    }
    let is_over = end_pass(link, progress);
    purged.more = !is_over;
    if is_over
        || progress
            .swept
            .lock()
            .is_none_or(|swept| swept.elapsed() >= SWEEP_EVERY)
    {
        purged.more |= bodies::purge(link).await?;
        audit::purge(link).await?;
        jobs::purge(link, options.replay_keep).await?;
        *progress.swept.lock() = Some(Instant::now());
    }
    Ok(purged)
}

/// Ends the pass if every shard was walked to its end. Returns whether it did.
fn end_pass(link: &Link, progress: &Progress) -> bool {
    let mut walks = progress.walks.lock();
    let mut shards = link.shards().all();
    let is_over = shards.all(|shard| walks.get(&shard).is_some_and(|walk| walk.is_over));
    if is_over {
        walks.values_mut().for_each(|walk| walk.is_over = false);
    }
    is_over
}

/// Continues the walk through a shard. Returns its position and what it deleted.
async fn walk_on(
    link: &Link,
    shard: Shard,
    order: &PurgeOrder,
    walk: Walk,
    rows: usize,
    looks: usize,
) -> Result<(Shard, Walk, Purged), Failure> {
    let from = walk.ledger.unwrap_or_default();
    let ((reached, events), ledger) = try_join(
        events::purge(link, shard, order, walk.events, Budget { rows, looks }),
        ledger::purge(link, shard, order, from, Budget { rows, looks }),
    )
    .await?;
    let (kept, deleted) = (walk.kept || ledger.kept > 0, walk.deleted || events > 0);
    let continues = ledger.reached.is_some();
    let walk = Walk {
        // An entry may have been kept for an event that was deleted afterwards: then the ledger is walked once more.
        is_over: reached.after.is_none() && !continues && !(kept && deleted),
        events: reached,
        ledger: ledger.reached,
        kept: kept && continues,
        deleted: deleted && continues,
    };
    let gone = Purged {
        events,
        ledger: ledger.deleted,
        more: false,
    };
    Ok((shard, walk, gone))
}

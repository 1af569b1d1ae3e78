//! Purge: what has outlived its window goes, payload before ledger, unfinished work never.
//!
//! Windows are the caller's and may change, and a ledger entry outlives its event whatever happens to it: so entries are
//! deleted here and not by an expiry of Redis.

mod events;
mod ledger;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hapax_core::EventId;
use hapax_core::store::{PurgeOrder, Purged};

use crate::failure::Failure;
use crate::link::Link;
use crate::shards::Shard;
use crate::{Options, audit, bodies, jobs};

/// Where the walk through each shard goes on.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    events: Mutex<BTreeMap<Shard, EventId>>,
    ledger: Mutex<BTreeMap<Shard, ledger::Reached>>,
}

/// What one call may still do.
struct Budget {
    /// Rows that may be deleted.
    rows: usize,
    /// Rows that may be looked at.
    looks: usize,
}

impl Budget {
    const fn is_spent(&self) -> bool {
        self.rows == 0 || self.looks == 0
    }
}

pub(crate) async fn purge(
    link: &Arc<Link>,
    options: &Options,
    progress: &Progress,
    order: &PurgeOrder,
) -> Result<Purged, Failure> {
    let mut purged = Purged::default();
    let rows = order.limit as usize;
    let mut budget = Budget {
        rows,
        looks: options.purge_scan_max,
    };
    for shard in link.shards().all() {
        let after = lock(&progress.events).remove(&shard);
        if let Some(reached) = events::purge(link, shard, order, after, &mut budget, &mut purged).await? {
            lock(&progress.events).insert(shard, reached);
            purged.more = true;
        }
    }
    budget.looks = options.purge_scan_max;
    for shard in link.shards().all() {
        let from = lock(&progress.ledger).remove(&shard).unwrap_or_default();
        if let Some(reached) = ledger::purge(link, shard, order, from, &mut budget, &mut purged).await? {
            lock(&progress.ledger).insert(shard, reached);
            purged.more = true;
        }
    }
    bodies::purge(link).await?;
    audit::purge(link, options.audit_keep).await?;
    jobs::purge(link, options.replay_keep).await?;
    Ok(purged)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

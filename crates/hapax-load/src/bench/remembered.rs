//! How much memory does an event need after its payload was purged? A store in memory is filled with events through its
//! own `accept`, their payloads are purged, and the memory that remains is divided by their number.

use std::sync::Arc;

use hapax_core::{Clock, Secret, Store, SystemClock, Timestamp};
use serde::Serialize;

use crate::preload;
use crate::redis::Redis;
use hapax_config::StoreUrl;
use hapax_server::OpenStore;
use hapax_terminal::progress::Progress;

use super::plan::{Plan, StoreKind};
use super::purge;
use super::site::{self, STORED};

#[derive(Clone, Debug, Serialize)]
pub struct Remembered {
    /// Events that the ledger knows.
    pub entries: u64,
    /// Memory in use with an empty store.
    pub empty_bytes: u64,
    /// Memory in use with the entries alone.
    pub filled_bytes: u64,
}

impl Remembered {
    /// Bytes per entry.
    pub fn bytes_each(&self) -> f64 {
        self.filled_bytes.saturating_sub(self.empty_bytes) as f64 / self.entries as f64
    }
}

/// Measures each of the plan's numbers of entries in turn. Only a store in memory is measured.
pub(super) async fn run(plan: &Plan) -> anyhow::Result<Vec<Remembered>> {
    let mut found = Vec::new();
    match (plan.kind(), &plan.store) {
        (StoreKind::Redis, Some(url)) => {
            for entries in &plan.remembered {
                site::empty(plan).await?;
                found.push(measure(url, *entries).await?);
            }
            // The next measurement must begin with an empty store, too.
            site::empty(plan).await?;
        }
        (StoreKind::Redis, None) | (StoreKind::Sqlite | StoreKind::Postgres, _) => {}
    }
    Ok(found)
}

async fn measure(url: &str, entries: u64) -> anyhow::Result<Remembered> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let mut redis = Redis::connect(&Secret::new(url)).await?;
    let store_url: StoreUrl = url.parse()?;
    let store = OpenStore::open(&store_url, None, &clock).await?;
    let backend = store.backend();
    let empty_bytes = redis.used_memory().await?;
    preload::remember(&*backend, STORED, entries).await?;
    let purged = purge_payloads(&*backend, clock.now(), entries).await?;
    anyhow::ensure!(
        purged == entries,
        "{entries} payloads were written, and {purged} were purged"
    );
    let filled_bytes = redis.used_memory().await?;
    store.close().await;
    Ok(Remembered {
        entries,
        empty_bytes,
        filled_bytes,
    })
}

/// Purges every payload but no ledger entry; returns the number of payloads.
async fn purge_payloads(store: &dyn Store, now: Timestamp, entries: u64) -> anyhow::Result<u64> {
    let progress = Progress::new(entries);
    progress.say(format!("purging {entries} payloads"));
    let order = purge::order(STORED, now, now);
    let purged = purge::run(store, &order, |events| progress.set(events)).await?;
    anyhow::ensure!(purged.ledger == 0, "a ledger entry expired too early");
    Ok(purged.events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shared_by_all_entries() {
        let remembered = Remembered {
            entries: 1_000,
            empty_bytes: 50_000,
            filled_bytes: 250_000,
        };
        assert!((remembered.bytes_each() - 200.0).abs() < 1e-9);
    }
}

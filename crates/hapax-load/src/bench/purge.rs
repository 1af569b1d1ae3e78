//! Purging through the store itself, as the engine does it, until nothing is left to delete.

use std::time::Duration;

use anyhow::Context as _;
use hapax_core::store::{PurgeOrder, PurgeWindow, Purged};
use hapax_core::{SourceName, Store, Timestamp};

/// Later than any event of a run was received.
const LATER: Duration = Duration::from_secs(86_400);
/// Rows to purge in one call.
const ROWS: u32 = 1_000;

/// Deletes the payloads of a source, whatever their age, and the ledger entries that expire before a moment.
pub(super) fn order(source: &str, now: Timestamp, ledger_before: Timestamp) -> PurgeOrder {
    PurgeOrder {
        windows: vec![PurgeWindow {
            source: SourceName::from(source),
            payload_before: now.plus(LATER),
            dead_before: now.plus(LATER),
        }],
        ledger_before,
        limit: ROWS,
    }
}

/// Purges, and shows the number of payloads after each step.
pub(super) async fn run(store: &dyn Store, order: &PurgeOrder, show: impl Fn(u64)) -> anyhow::Result<Purged> {
    let mut all = Purged::default();
    loop {
        let step = store.purge(order.clone()).await.context("a purge failed")?;
        all.events += step.events;
        all.ledger += step.ledger;
        show(all.events);
        if !step.more {
            return Ok(all);
        }
    }
}

//! Does a long backlog slow leases down? Deliveries are leased and finished through the store itself, first with few
//! queued, then with a million.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::future::try_join_all;
use hapax_core::store::{Candidates, LeaseOrder, Report, Written};
use hapax_core::{AttemptOutcome, Backend, Clock, Owner, SystemClock};
use serde::Serialize;

use crate::preload;
use crate::workspace::{Afterwards, Workspace};
use hapax_config::StoreUrl;
use hapax_server::OpenStore;

use super::database::Database;
use super::meter::{Meter, Rate};
use super::plan::Plan;

/// Deliveries leased and finished in one run; there are several runs at each backlog length.
const LEASED: u64 = 20_000;
/// Together, the runs outlast a database's background work after a million rows were inserted.
const RUNS: usize = 15;
/// As in the engine: deliveries per call, and calls at once.
const BATCH: u32 = 64;
const WORKERS: usize = 4;
const LEASE: Duration = Duration::from_secs(600);

/// The result of the comparison, in deliveries per second.
#[derive(Debug, Serialize)]
pub struct Backlog {
    /// Deliveries in the long backlog at its start.
    pub deliveries: u64,
    /// Runs in which only the leased deliveries are queued.
    pub short: Vec<Rate>,
    /// Runs with the long backlog.
    pub long: Vec<Rate>,
}

impl Backlog {
    pub fn with_short(&self) -> Rate {
        Rate::median(&self.short)
    }

    pub fn with_long(&self) -> Rate {
        Rate::median(&self.long)
    }
}

/// Runs the comparison, on the plan's store or on a file inside `parent`.
pub(super) async fn run(
    plan: &Plan,
    deliveries: u64,
    database: &Database,
    parent: &Path,
) -> anyhow::Result<Backlog> {
    // The store is used by this process, which so stands for the service.
    let meter = Meter::new(std::process::id(), database);
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    let own = format!("sqlite:{}", workspace.path().join("hapax.db").display());
    let url: StoreUrl = plan.store.clone().unwrap_or(own).parse()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let store = OpenStore::open(&url, None, &clock).await?;
    let backend = store.backend();
    let mut backlog = Backlog {
        deliveries,
        short: Vec::new(),
        long: Vec::new(),
    };
    for _ in 0..RUNS {
        preload::enqueue(&*backend, "short", LEASED).await?;
        backlog.short.push(measure(&backend, "short", meter).await?);
    }
    preload::enqueue(&*backend, "long", deliveries).await?;
    for _ in 0..RUNS {
        backlog.long.push(measure(&backend, "long", meter).await?);
    }
    store.close().await;
    Ok(backlog)
}

/// Leases and finishes deliveries.
async fn measure(store: &Arc<dyn Backend>, destination: &str, meter: Meter<'_>) -> anyhow::Result<Rate> {
    let left = AtomicU64::new(LEASED);
    let running = meter.start();
    let started = Instant::now();
    try_join_all((0..WORKERS).map(|_| drain(&**store, destination, &left))).await?;
    Ok(Rate {
        per_second: LEASED as f64 / started.elapsed().as_secs_f64(),
        processor_us: running.end().per_event(LEASED),
    })
}

async fn drain(store: &dyn Backend, destination: &str, left: &AtomicU64) -> anyhow::Result<()> {
    loop {
        let share = left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            (left > 0).then(|| left.saturating_sub(u64::from(BATCH)))
        });
        let Ok(before) = share else {
            return Ok(());
        };
        let mut wanted = u32::try_from(before.min(u64::from(BATCH)))?;
        while wanted > 0 {
            let order = LeaseOrder {
                owner: Owner(1),
                destination: destination.into(),
                limit: wanted,
                lease_for: LEASE,
                candidates: Candidates::Fresh,
            };
            let batch = store.lease(order).await.context("a lease failed")?;
            let reports: Vec<Report> = batch
                .leased
                .iter()
                .map(|leased| Report {
                    hold: leased.hold(),
                    attempt: None,
                    outcome: AttemptOutcome::Completed,
                })
                .collect();
            let written = store.finish(reports).await.context("a finish failed")?;
            anyhow::ensure!(
                written.iter().all(|written| *written == Written::Applied),
                "a lease was lost"
            );
            wanted -= u32::try_from(batch.leased.len())?;
        }
    }
}

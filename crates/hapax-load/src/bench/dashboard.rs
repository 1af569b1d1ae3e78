//! The dashboard with a million stored events: how long every page takes, and the cost of a live tail.
//!
//! The store is filled before the service opens it; pages are requested as a browser does, with a session. The load
//! runs in turns without and with a tail, so that both see the same machine.

mod browser;
mod fill;
mod pages;
mod tail;

use std::sync::Arc;

use anyhow::Context as _;
use hapax_core::{Clock, SystemClock};
use serde::Serialize;

use crate::machine::Machine;
use crate::service::{Settings, Site, new_secret};
use crate::workspace::{Afterwards, Workspace};
use hapax_config::StoreUrl;
use hapax_server::OpenStore;
use hapax_terminal::output;

use super::plan::Plan;
pub(super) use fill::{Filling, Landmarks, PAUSED, SOURCES, WORKING};
pub(super) use pages::{Page, measure as measure_pages};
use tail::Tail;

/// The most events to store first.
pub const EVENTS_MAX: u64 = 20_000_000;
/// Longest acceptable time for a page.
const PAGE_MS_MAX: f64 = 150.0;
/// Largest acceptable slowdown of accepts by a tail.
const SLOWDOWN_MAX: f64 = 0.05;

#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    /// Events stored before the measurement.
    events: u64,
    pages: Vec<Page>,
    tail: Tail,
}

/// Fills a store and measures.
pub async fn run(plan: &Plan, events: u64) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let secret = new_secret();
    let own = format!("sqlite:{}", workspace.path().join("hapax.db").display());
    let url: StoreUrl = plan.store.clone().unwrap_or(own).parse()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let store = OpenStore::open(&url, None, &clock).await?;
    let landmarks = fill::run(&*store.backend(), events).await?;
    store.close().await;
    let sources = SOURCES.iter().map(|source| (*source, vec![])).collect();
    let settings = Settings {
        store_url: plan.store.clone().unwrap_or_else(|| url.to_string()),
        encryption_key: None,
        sources,
        secret: secret.clone(),
        destinations: destinations(),
    };
    let site = Site::create(workspace.path(), &settings)?;
    let service = site.start().await?;
    let pages = pages::measure(&site, &landmarks).await?;
    let pid = service.pid().context("the service has no process id")?;
    let tail = tail::measure(&site, pid, &secret, plan).await?;
    service.end().await.context("the service did not stop")?;
    Ok(Results {
        machine,
        events,
        pages,
        tail,
    })
}

/// The destinations of the stored events. Nothing is delivered to them: one is paused, the other has nothing queued.
pub(super) fn destinations() -> String {
    format!(
        "\n[destinations.{WORKING}]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n\
         \n[destinations.{PAUSED}]\nkind = \"http\"\nurl = \"http://127.0.0.1:9/\"\n"
    )
}

pub fn print(results: &Results) -> std::io::Result<()> {
    output::line(format_args!(
        "{} events stored, {} cores",
        results.events, results.machine.cores
    ))?;
    pages::print(&results.pages, PAGE_MS_MAX)?;
    tail::print(&results.tail, SLOWDOWN_MAX)
}

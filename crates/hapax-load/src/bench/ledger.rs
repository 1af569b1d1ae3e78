//! Does a large ledger slow accepts down? The same load, for minutes, on a store with millions of entries and on an
//! empty one, in turns: empty, large, large, empty.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use crate::preload;
use crate::service::{Site, new_secret};
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::progress::Progress;

use super::database::Database;
use super::meter::{Meter, ProcessorUs, Rate};
use super::plan::Plan;
use super::round::{Measured, unexpected};
use super::site::{self, Loads, STORED};

const CONNECTIONS: usize = 256;

#[derive(Debug, Serialize)]
pub struct Ledger {
    /// Entries in the large ledger at its start.
    pub entries: u64,
    /// Runs on a store that was empty at their start.
    pub empty: Vec<Measured>,
    /// Runs on the large ledger, which grows with each run.
    pub large: Vec<Measured>,
    /// Unexpected results.
    pub problems: Vec<String>,
}

impl Ledger {
    /// New events on the empty store, across all its runs.
    pub fn on_empty(&self) -> Rate {
        mean(&self.empty)
    }

    /// New events on the large one.
    pub fn on_large(&self) -> Rate {
        mean(&self.large)
    }
}

/// Runs the comparison inside `parent`.
pub(super) async fn run(plan: &Plan, entries: u64, parent: &Path) -> anyhow::Result<Ledger> {
    let secret = new_secret();
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    preload::fill(&workspace.path().join("hapax.db"), STORED, entries).await?;
    let large = site::create(workspace.path(), None, None, &secret)?;
    let mut ledger = Ledger {
        entries,
        empty: Vec::new(),
        large: Vec::new(),
        problems: Vec::new(),
    };
    let progress = Progress::new(4);
    for turn in [Turn::Empty, Turn::Large, Turn::Large, Turn::Empty] {
        progress.say(format!("{} for {} s", turn.label(), plan.ledger_seconds));
        let measured = match turn {
            Turn::Empty => {
                let workspace = Workspace::create(parent, Afterwards::Remove)?;
                let site = site::create(workspace.path(), None, None, &secret)?;
                measure(plan, &site, &secret).await?
            }
            Turn::Large => measure(plan, &large, &secret).await?,
        };
        ledger.problems.extend(unexpected(
            turn.label(),
            &measured.report,
            measured.report.counts.accepted,
        ));
        match turn {
            Turn::Empty => ledger.empty.push(measured),
            Turn::Large => ledger.large.push(measured),
        }
        progress.step();
    }
    Ok(ledger)
}

#[derive(Clone, Copy, Debug)]
enum Turn {
    Empty,
    Large,
}

impl Turn {
    const fn label(self) -> &'static str {
        match self {
            Self::Empty => "new events on an empty ledger",
            Self::Large => "new events on the large ledger",
        }
    }
}

async fn measure(plan: &Plan, site: &Site, secret: &str) -> anyhow::Result<Measured> {
    let service = site.start().await?;
    let pid = service.pid().context("the service has no process id")?;
    let loads = Loads {
        secret,
        seconds: plan.ledger_seconds,
    };
    let running = Meter::new(pid, &Database::File).start();
    let report = loads.new_events(site.ingest(), CONNECTIONS).await?;
    let spent = running.end();
    service.end().await?;
    Ok(Measured {
        processor_us: spent.per_event(report.counts.accepted),
        report,
    })
}

fn mean(runs: &[Measured]) -> Rate {
    let accepted: u64 = runs.iter().map(|run| run.report.counts.accepted).sum();
    let seconds: f64 = runs.iter().map(|run| run.report.seconds).sum();
    Rate {
        per_second: if seconds > 0.0 {
            accepted as f64 / seconds
        } else {
            0.0
        },
        processor_us: ProcessorUs::median(runs.iter().map(|run| run.processor_us)),
    }
}

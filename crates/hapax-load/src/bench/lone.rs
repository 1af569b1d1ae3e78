//! How long does an event take that comes alone? One connection sends a new event at long, even intervals, so that no
//! event waits for another, and none shares its transaction with others.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use crate::report::Latency;
use crate::service::new_secret;
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::progress::Progress;

use super::plan::Plan;
use super::round::unexpected;
use super::site::{self, Loads};

#[derive(Debug, Serialize)]
pub struct Lone {
    /// Events that were accepted.
    pub events: u64,
    /// Milliseconds from one to the next.
    pub every_ms: u64,
    pub latency: Latency,
    /// Unexpected results.
    pub problems: Vec<String>,
}

impl Lone {
    /// The interval, in the words of a figure's name.
    pub(super) fn interval(&self) -> String {
        match self.every_ms {
            1_000 => "second".to_owned(),
            every_ms => format!("{every_ms} ms"),
        }
    }
}

/// Measures on a fresh store inside `parent`, or on the plan's.
pub(super) async fn run(plan: &Plan, parent: &Path) -> anyhow::Result<Lone> {
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    let secret = new_secret();
    site::empty(plan).await?;
    let site = site::create(workspace.path(), plan.store.as_deref(), None, &secret)?;
    let service = site.start().await?;
    site::rest(plan).await?;
    let every = Duration::from_secs(1) / plan.lone_per_second.max(1);
    let progress = Progress::new(1);
    progress.say(format!(
        "{} events, one every {} ms",
        plan.lone_events,
        every.as_millis()
    ));
    let loads = Loads {
        secret: &secret,
        seconds: plan.seconds,
    };
    let report = loads
        .lone(site.ingest(), plan.lone_events, plan.lone_per_second)
        .await?;
    service.end().await?;
    Ok(Lone {
        events: report.counts.accepted,
        every_ms: every.as_millis() as u64,
        problems: unexpected("lone events", &report, report.counts.accepted)
            .into_iter()
            .collect(),
        latency: report.latency,
    })
}

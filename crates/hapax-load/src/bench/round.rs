//! One round: the ceiling and the service in turns, on a fresh store.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hapax_core::{Clock as _, SystemClock};
use serde::Serialize;

use crate::book::Book;
use crate::child::Server;
use crate::connection::get;
use crate::memory::{Memory, Watch};
use crate::report::Report;
use crate::service::new_secret;
use crate::sink::{TOTALS_PATH, Totals};
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::progress::Progress;

use super::plan::{CONNECTIONS, Plan};
use super::site::{self, Loads, Outlets};

/// How long a service rests after its start before it counts as idle.
const SETTLE: Duration = Duration::from_secs(1);
const PROBE_LIMIT: Duration = Duration::from_secs(10);
const PROBE_EVERY: Duration = Duration::from_millis(50);
/// Not more often, because counting lines slows the database that is measured.
const COUNT_EVERY: Duration = Duration::from_millis(200);
const DELIVERED_LIMIT: Duration = Duration::from_secs(300);

/// The results of a round. Maps are keyed by the number of connections.
#[derive(Debug, Default, Serialize)]
pub struct Round {
    /// The bare handler.
    pub ceiling: BTreeMap<usize, Report>,
    /// Events that were never sent before.
    pub new: BTreeMap<usize, Report>,
    /// Events that were sent before.
    pub duplicates: BTreeMap<usize, Report>,
    /// Known ids, each time with a different body.
    pub conflicts: BTreeMap<usize, Report>,
    /// Events per second, from the first accept to the last effect at the sink.
    pub delivered_per_second: f64,
    /// Events per second, from the first accept to the last commit of a `sql` destination.
    pub committed_per_second: f64,
    /// From the start of the process to its first 200 at `/readyz`.
    pub ready_ms: f64,
    /// Resident memory before the first request.
    pub idle_resident_kib: Option<u64>,
    /// Peak resident memory.
    pub resident_peak_kib: Option<u64>,
    /// Peak anonymous memory.
    pub anonymous_peak_kib: Option<u64>,
    /// Unexpected results.
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ceiling(usize),
    New(usize),
    Duplicates(usize),
    Conflicts(usize),
}

/// Runs one round in its own folder inside `parent`.
pub(super) async fn run(
    plan: &Plan,
    number: usize,
    parent: &Path,
    progress: &Progress,
) -> anyhow::Result<Round> {
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    let secret = new_secret();
    let loads = Loads {
        secret: &secret,
        seconds: plan.seconds,
    };
    let ceiling = Server::start("ceiling").await?;
    let sink = Server::start("sink").await?;
    site::empty(plan).await?;
    let book = Book::open(plan.store.as_deref(), workspace.path()).await?;
    let outlets = Outlets {
        sink: sink.address(),
        book: &book,
    };
    let site = site::create(workspace.path(), plan.store.as_deref(), Some(outlets), &secret)?;
    let service = site.start().await?;
    let mut round = Round {
        ready_ms: service.ready_after().as_secs_f64() * 1e3,
        ..Round::default()
    };
    let pid = service.pid().context("the service has no process id")?;
    tokio::time::sleep(SETTLE).await;
    round.idle_resident_kib = Memory::of(pid).map(|memory| memory.resident_kib);
    let watch = Watch::start(pid);

    let seed = fastrand::u64(..);
    let label = format!("round {}", number + 1);
    progress.say(format!("{label}: first deliveries of the duplicates"));
    let first = loads.first_deliveries(site.ingest(), seed).await?;
    round.note("first deliveries", &first, first.counts.accepted);
    progress.step();
    for step in order(number) {
        progress.say(format!("{label}: {}", step.label()));
        site::rest(plan).await?;
        round
            .measure(step, &loads, ceiling.address(), site.ingest(), seed)
            .await?;
        progress.step();
    }
    progress.say(format!("{label}: accepted to delivered"));
    site::rest(plan).await?;
    round
        .deliver(&loads, site.ingest(), sink.address(), plan.delivered_events)
        .await?;
    progress.step();
    progress.say(format!("{label}: accepted to committed"));
    site::rest(plan).await?;
    round
        .commit(&loads, site.ingest(), &book, plan.delivered_events)
        .await?;
    progress.step();

    let peak = Memory::of(pid).map(|_| watch.peak());
    round.resident_peak_kib = peak.map(|peak| peak.resident_kib);
    round.anonymous_peak_kib = peak.map(|peak| peak.anonymous_kib);
    service.end().await?;
    Ok(round)
}

/// Every second round runs in reverse order, so that a machine that slows down or speeds up favours neither side.
fn order(number: usize) -> Vec<Step> {
    let steps = CONNECTIONS.iter().flat_map(|connections| {
        [
            Step::Ceiling(*connections),
            Step::New(*connections),
            Step::Duplicates(*connections),
            Step::Conflicts(*connections),
        ]
    });
    let mut steps: Vec<Step> = steps.collect();
    if number % 2 == 1 {
        steps.reverse();
    }
    steps
}

impl Step {
    fn label(self) -> String {
        match self {
            Self::Ceiling(connections) => format!("the ceiling, {connections} connections"),
            Self::New(connections) => format!("new events, {connections} connections"),
            Self::Duplicates(connections) => format!("duplicates, {connections} connections"),
            Self::Conflicts(connections) => format!("conflicts, {connections} connections"),
        }
    }
}

impl Round {
    async fn measure(
        &mut self,
        step: Step,
        loads: &Loads<'_>,
        ceiling: SocketAddr,
        service: SocketAddr,
        seed: u64,
    ) -> anyhow::Result<()> {
        match step {
            Step::Ceiling(connections) => {
                let report = loads.ceiling(ceiling, connections).await?;
                self.note(&step.label(), &report, report.counts.accepted);
                self.ceiling.insert(connections, report);
            }
            Step::New(connections) => {
                let report = loads.new_events(service, connections).await?;
                self.note(&step.label(), &report, report.counts.accepted);
                self.new.insert(connections, report);
            }
            Step::Duplicates(connections) => {
                let report = loads.duplicates(service, connections, seed).await?;
                self.note(&step.label(), &report, report.counts.duplicate);
                self.duplicates.insert(connections, report);
            }
            Step::Conflicts(connections) => {
                let report = loads.conflicts(service, connections, seed).await?;
                self.note(&step.label(), &report, report.counts.conflict);
                self.conflicts.insert(connections, report);
            }
        }
        Ok(())
    }

    async fn deliver(
        &mut self,
        loads: &Loads<'_>,
        service: SocketAddr,
        sink: SocketAddr,
        count: usize,
    ) -> anyhow::Result<()> {
        let report = loads.delivered(service, count).await?;
        self.note("accepted to delivered", &report, report.counts.accepted);
        let totals = wait_for_events(sink, report.counts.accepted).await?;
        let missing = report.counts.accepted.saturating_sub(totals.events);
        if missing > 0 {
            self.problems.push(format!(
                "accepted to delivered: {missing} of {} events had not reached the sink within {DELIVERED_LIMIT:?}",
                report.counts.accepted
            ));
        }
        // Without any effect, the time of the last one is 0, and so is the rate.
        let took_us = totals
            .last_effect_at_us
            .saturating_sub(report.started_at_us)
            .max(1);
        self.delivered_per_second = totals.events as f64 / (took_us as f64 / 1e6);
        Ok(())
    }

    async fn commit(
        &mut self,
        loads: &Loads<'_>,
        service: SocketAddr,
        book: &Book,
        count: usize,
    ) -> anyhow::Result<()> {
        let report = loads.committed(service, count).await?;
        let accepted = report.counts.accepted;
        self.note("accepted to committed", &report, accepted);
        let started = Instant::now();
        let mut lines = book.lines().await?;
        while lines < accepted && started.elapsed() < DELIVERED_LIMIT {
            tokio::time::sleep(COUNT_EVERY).await;
            lines = book.lines().await?;
        }
        let took = Duration::from_micros(now_us().saturating_sub(report.started_at_us).max(1));
        if lines != accepted {
            self.problems.push(format!(
                "accepted to committed: {accepted} events, but {lines} lines after {DELIVERED_LIMIT:?}"
            ));
        }
        self.committed_per_second = lines as f64 / took.as_secs_f64();
        Ok(())
    }

    /// Records unexpected answers: a rate that includes them needs an explanation.
    fn note(&mut self, label: &str, report: &Report, expected: u64) {
        self.problems.extend(unexpected(label, report, expected));
    }
}

/// By the same clock as the client's report.
fn now_us() -> u64 {
    u64::try_from(SystemClock::default().now().as_micros()).unwrap_or_default()
}

/// A sentence about unexpected answers, if there were any.
pub(super) fn unexpected(label: &str, report: &Report, expected: u64) -> Option<String> {
    let all = report.counts.successes() + report.counts.failures();
    (all != expected).then(|| {
        format!(
            "{label}: {} of {all} answers were not as expected: {:?}",
            all - expected,
            report.counts
        )
    })
}

/// The sink's totals once it has this many events, or after the limit.
async fn wait_for_events(sink: SocketAddr, count: u64) -> anyhow::Result<Totals> {
    let started = Instant::now();
    loop {
        let (_, body) = get(sink, TOTALS_PATH, "", PROBE_LIMIT).await?;
        let totals: Totals = serde_json::from_slice(&body)?;
        if totals.events >= count || started.elapsed() >= DELIVERED_LIMIT {
            return Ok(totals);
        }
        tokio::time::sleep(PROBE_EVERY).await;
    }
}

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

use super::database::Database;
use super::meter::{Meter, ProcessorUs, Rate};
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
    pub ceiling: BTreeMap<usize, Measured>,
    /// Events that were never sent before.
    pub new: BTreeMap<usize, Measured>,
    /// Events that were sent before.
    pub duplicates: BTreeMap<usize, Measured>,
    /// Known ids, each time with a different body.
    pub conflicts: BTreeMap<usize, Measured>,
    /// From the first accept to the last effect at the sink.
    pub delivered: Rate,
    /// From the first accept to the last commit of a `sql` destination.
    pub committed: Rate,
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

/// What the client saw, and what each answer cost.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    #[serde(flatten)]
    pub report: Report,
    pub processor_us: ProcessorUs,
}

/// A server under load, and how to read what it spends.
#[derive(Clone, Copy)]
struct Subject<'a> {
    address: SocketAddr,
    meter: Meter<'a>,
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
    database: &Database,
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
    let answering = Subject {
        address: site.ingest(),
        meter: Meter::new(pid, database),
    };
    let bare = Subject {
        address: ceiling.address(),
        meter: Meter::new(ceiling.pid()?, &Database::File),
    };

    let seed = fastrand::u64(..);
    let label = format!("round {}", number + 1);
    progress.say(format!("{label}: first deliveries of the duplicates"));
    let first = loads.first_deliveries(site.ingest(), seed).await?;
    round.note("first deliveries", &first, first.counts.accepted);
    progress.step();
    for step in order(number) {
        progress.say(format!("{label}: {}", step.label()));
        site::rest(plan).await?;
        round.measure(step, &loads, bare, answering, seed).await?;
        progress.step();
    }
    progress.say(format!("{label}: accepted to delivered"));
    site::rest(plan).await?;
    round
        .deliver(&loads, answering, sink.address(), plan.delivered_events)
        .await?;
    progress.step();
    progress.say(format!("{label}: accepted to committed"));
    site::rest(plan).await?;
    round
        .commit(&loads, answering, &book, plan.delivered_events)
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
        ceiling: Subject<'_>,
        service: Subject<'_>,
        seed: u64,
    ) -> anyhow::Result<()> {
        let subject = match step {
            Step::Ceiling(_) => ceiling,
            Step::New(_) | Step::Duplicates(_) | Step::Conflicts(_) => service,
        };
        let running = subject.meter.start();
        let report = match step {
            Step::Ceiling(connections) => loads.ceiling(ceiling.address, connections).await?,
            Step::New(connections) => loads.new_events(service.address, connections).await?,
            Step::Duplicates(connections) => loads.duplicates(service.address, connections, seed).await?,
            Step::Conflicts(connections) => loads.conflicts(service.address, connections, seed).await?,
        };
        let spent = running.end();
        let counts = &report.counts;
        let (connections, expected) = match step {
            Step::Ceiling(connections) | Step::New(connections) => (connections, counts.accepted),
            Step::Duplicates(connections) => (connections, counts.duplicate),
            Step::Conflicts(connections) => (connections, counts.conflict),
        };
        self.note(&step.label(), &report, expected);
        let measured = Measured {
            processor_us: spent.per_event(expected),
            report,
        };
        let place = match step {
            Step::Ceiling(_) => &mut self.ceiling,
            Step::New(_) => &mut self.new,
            Step::Duplicates(_) => &mut self.duplicates,
            Step::Conflicts(_) => &mut self.conflicts,
        };
        place.insert(connections, measured);
        Ok(())
    }

    async fn deliver(
        &mut self,
        loads: &Loads<'_>,
        service: Subject<'_>,
        sink: SocketAddr,
        count: usize,
    ) -> anyhow::Result<()> {
        let (rate, problems) = deliver(loads, service.address, service.meter, sink, count).await?;
        self.delivered = rate;
        self.problems.extend(problems);
        Ok(())
    }

    async fn commit(
        &mut self,
        loads: &Loads<'_>,
        service: Subject<'_>,
        book: &Book,
        count: usize,
    ) -> anyhow::Result<()> {
        let running = service.meter.start();
        let report = loads.committed(service.address, count).await?;
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
        self.committed = Rate {
            per_second: lines as f64 / took.as_secs_f64(),
            processor_us: running.end().per_event(lines),
        };
        Ok(())
    }

    /// Records unexpected answers: a rate that includes them needs an explanation.
    fn note(&mut self, label: &str, report: &Report, expected: u64) {
        self.problems.extend(unexpected(label, report, expected));
    }
}

/// Sends new events that are delivered to the sink; returns the rate from the first accept to the last effect, and what
/// was unexpected. The sink may have other events already.
pub(super) async fn deliver(
    loads: &Loads<'_>,
    service: SocketAddr,
    meter: Meter<'_>,
    sink: SocketAddr,
    count: usize,
) -> anyhow::Result<(Rate, Vec<String>)> {
    let before = totals(sink).await?.events;
    let running = meter.start();
    let report = loads.delivered(service, count).await?;
    let accepted = report.counts.accepted;
    let mut problems: Vec<String> = unexpected("accepted to delivered", &report, accepted)
        .into_iter()
        .collect();
    let totals = wait_for_events(sink, before + accepted).await?;
    let spent = running.end();
    let delivered = totals.events - before;
    let missing = accepted.saturating_sub(delivered);
    if missing > 0 {
        problems.push(format!(
            "accepted to delivered: {missing} of {accepted} events had not reached the sink within {DELIVERED_LIMIT:?}"
        ));
    }
    // Without any effect, the time of the last one is 0, and so is the rate.
    let took_us = totals
        .last_effect_at_us
        .saturating_sub(report.started_at_us)
        .max(1);
    let rate = Rate {
        per_second: delivered as f64 / (took_us as f64 / 1e6),
        processor_us: spent.per_event(delivered),
    };
    Ok((rate, problems))
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
        let totals = totals(sink).await?;
        if totals.events >= count || started.elapsed() >= DELIVERED_LIMIT {
            return Ok(totals);
        }
        tokio::time::sleep(PROBE_EVERY).await;
    }
}

async fn totals(sink: SocketAddr) -> anyhow::Result<Totals> {
    let (_, body) = get(sink, TOTALS_PATH, "", PROBE_LIMIT).await?;
    Ok(serde_json::from_slice(&body)?)
}

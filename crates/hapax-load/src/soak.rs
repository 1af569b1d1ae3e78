//! The soak: rounds of events for as long as you like, with random faults, and a sample of the process after each. No
//! event may be lost or doubled, and memory and descriptors may not grow.

mod fault;
mod report;

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::book::Book;
use super::demo::{self, FAULTS, STORE_FILE, Senders, Waves};
use super::memory::Memory;
use super::service::{Service, Site, new_secret};
use super::sink::{Effects, Sink};
use super::workspace::Workspace;
use hapax_terminal::progress::Progress;

use fault::Fault;
pub use report::{Report, print};
use report::{Sample, Tally};

/// Different events in a round, and how often each is sent at most.
const EVENTS: usize = 1_000;
const TIMES_MAX: usize = 4;
/// Kills happen only in this share of the time, so that one process lives long enough to show whether it grows.
const KILLS_UNTIL: f64 = 1.0 / 3.0;

/// From this size on, the SQLite store gives its writer a larger page cache, so earlier samples are not comparable.
const LARGE_FILE_BYTES: u64 = 1 << 30;

pub struct Plan {
    pub duration: Duration,
    /// A store to use; with `None`, a new SQLite file in the workspace.
    pub store: Option<String>,
}

pub async fn run(plan: &Plan, workspace: &Workspace) -> anyhow::Result<Report> {
    let started = Instant::now();
    let sink = Sink::start(([127, 0, 0, 1], 0).into(), Effects::default(), FAULTS).await?;
    let secret = new_secret();
    let store = plan.store.as_deref();
    let book = Book::open(store, workspace.path()).await?;
    let site = demo::site(store, workspace.path(), &sink, &book, &secret)?;
    let mut service = site.start().await?;
    let mut tally = Tally::default();
    let mut samples = Vec::new();
    let mut was_large = false;
    while started.elapsed() < plan.duration {
        let part = started.elapsed().as_secs_f64() / plan.duration.as_secs_f64();
        let fault = Fault::draw(part < KILLS_UNTIL);
        let waves = Waves::new(EVENTS, TIMES_MAX);
        let progress = Progress::new(waves.total() as u64);
        progress.say(format!("round {}: {}", tally.rounds + 1, fault.label()));
        let senders = Senders::new(site.ingest(), demo::prepare(&site, &secret, EVENTS).await?);
        service = round(&site, service, fault, (&senders, &waves), &progress).await?;
        progress.end();
        tally.add(&senders, sink.effects(), fault);
        let large = is_large(workspace);
        // Earlier samples are of another process, or of a small file.
        if fault == Fault::Kill || large != was_large {
            samples.clear();
        }
        was_large = large;
        samples.push(sample(&service)?);
    }
    service.end().await?;
    tally.read(&book.effects().await?);
    book.burn().await?;
    Ok(Report::new(tally, &samples, started.elapsed()))
}

/// Sends every event several times, with a fault in the middle, and waits until all are delivered.
async fn round(
    site: &Site,
    service: Service,
    fault: Fault,
    (senders, waves): (&Senders, &Waves),
    progress: &Progress,
) -> anyhow::Result<Service> {
    let middle = fastrand::usize(waves.mixed.len() / 4..waves.mixed.len() * 3 / 4);
    let mut answered = senders.answered();
    let ((), service) = tokio::join!(senders.send(&waves.mixed, progress), async {
        answered.wait_for(|answered| *answered >= middle).await?;
        fault.strike(site, service).await
    });
    let service = service?;
    demo::drained(site).await?;
    senders.send(&waves.late, progress).await;
    demo::drained(site).await?;
    Ok(service)
}

fn is_large(workspace: &Workspace) -> bool {
    let file = std::fs::metadata(workspace.path().join(STORE_FILE));
    file.is_ok_and(|file| file.len() > LARGE_FILE_BYTES)
}

fn sample(service: &Service) -> anyhow::Result<Sample> {
    let pid = service.pid().context("the service has no process id")?;
    let memory = Memory::of(pid).context("the system does not report the memory of a process")?;
    Ok(Sample {
        anonymous_kib: memory.anonymous_kib,
        descriptors: Memory::descriptors_of(pid)
            .context("the system does not report the open files of a process")?,
    })
}

//! Does purging keep pace with intake? Windows are seconds instead of days: events are accepted at full speed through
//! the engine, once without purging and once with it, while the number of expired events that are still stored is
//! sampled.
//!
//! That number is known without asking the store: all events accepted more than one window ago, less those that were
//! purged.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use hapax_core::{Clock, Headers, Leased, SourceName, SystemClock, SystemRandom};
use hapax_engine::{
    Accepted, AttemptResult, Engine, IncomingEvent, Limits, Observation, Observer, OnConflict, Parts, Route,
    Routing, SameBody, TokioRuntime, Transport,
};
use parking_lot::Mutex;
use serde::Serialize;

use crate::answer::Outcome;
use crate::machine::Machine;
use crate::report::{Report, Tally};
use crate::workspace::{Afterwards, Workspace};
use hapax_config::StoreUrl;
use hapax_server::OpenStore;
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::database::Database;
use super::meter::{Meter, ProcessorUs, Rate};
use super::plan::Plan;
use super::site::{self, STORED};

/// The default duration of each side.
pub const SECONDS: u64 = 60;
const CONNECTIONS: usize = 256;
const BODY_BYTES: usize = 1_024;
const PAYLOAD_RETENTION: Duration = Duration::from_secs(5);
const LEDGER_WINDOW: Duration = Duration::from_secs(10);
/// How often to sample the number of expired events.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);
/// For each kind, expired rows may not exceed the number of events accepted in this time.
const LAG_MAX: Duration = Duration::from_secs(5);
const SHUTDOWN: Duration = Duration::from_secs(10);
const NEVER: Duration = Duration::from_secs(86_400);

#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    connections: usize,
    payload_retention_seconds: u64,
    ledger_window_seconds: u64,
    without: Report,
    with: Report,
    /// Of this process, in which the callers and the engine run, and of the database.
    without_processor_us: ProcessorUs,
    with_processor_us: ProcessorUs,
    purged_events: u64,
    purged_ledger: u64,
    samples: Vec<Sample>,
    /// Accepts per second with purging divided by those without.
    rate_ratio: f64,
    p99_ratio: f64,
    /// The highest number of expired rows, in seconds of intake.
    peak_seconds: f64,
    /// The highest in the last quarter, when purging and intake have reached a balance.
    lag_seconds: f64,
    lag_seconds_max: f64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Serialize)]
struct Sample {
    seconds: f64,
    accepted: u64,
    expired_events: u64,
    expired_ledger: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Kept,
    Behind,
}

impl Results {
    pub fn standing(&self) -> Standing {
        if self.lag_seconds <= self.lag_seconds_max && self.with.counts.failures() == 0 {
            Standing::Kept
        } else {
            Standing::Behind
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purging {
    Off,
    On,
}

/// Measures both sides, each on a fresh store.
pub async fn run(plan: &Plan) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let database = Database::find(plan).await?;
    let progress = Progress::new(2);
    progress.say("accepts without purging".to_owned());
    let running = Meter::new(std::process::id(), &database).start();
    let (without, _) = measure(plan, Purging::Off, workspace.path()).await?;
    let without_processor_us = running.end().per_event(without.counts.accepted);
    progress.step();
    progress.say("accepts with purging".to_owned());
    let running = Meter::new(std::process::id(), &database).start();
    let (with, counted) = measure(plan, Purging::On, workspace.path()).await?;
    let with_processor_us = running.end().per_event(with.counts.accepted);
    progress.step();
    progress.end();
    let samples = counted.samples.lock().clone();
    let most = |samples: &[Sample]| {
        let expired = samples
            .iter()
            .map(|sample| sample.expired_events.max(sample.expired_ledger));
        expired.max().unwrap_or_default() as f64 / with.per_second
    };
    let last_quarter = samples.len() - samples.len() / 4;
    Ok(Results {
        machine,
        connections: CONNECTIONS,
        payload_retention_seconds: PAYLOAD_RETENTION.as_secs(),
        ledger_window_seconds: LEDGER_WINDOW.as_secs(),
        rate_ratio: with.per_second / without.per_second,
        p99_ratio: with.latency.p99_us as f64 / without.latency.p99_us as f64,
        peak_seconds: most(&samples),
        lag_seconds: most(&samples[last_quarter..]),
        lag_seconds_max: LAG_MAX.as_secs_f64(),
        purged_events: counted.purged_events.load(Ordering::Relaxed),
        purged_ledger: counted.purged_ledger.load(Ordering::Relaxed),
        samples,
        without,
        with,
        without_processor_us,
        with_processor_us,
    })
}

pub fn print(results: &Results) -> std::io::Result<()> {
    output::line(format_args!(
        "{} cores, {} accepts at once; payloads kept for {} s, the ledger for {} s",
        results.machine.cores,
        results.connections,
        results.payload_retention_seconds,
        results.ledger_window_seconds
    ))?;
    for (name, report, processor_us) in [
        ("without purging", &results.without, results.without_processor_us),
        ("with purging", &results.with, results.with_processor_us),
    ] {
        let rate = Rate {
            per_second: report.per_second,
            processor_us,
        };
        output::line(format_args!(
            "accepts {name}: {rate}, p50 {:.2} ms, p99 {:.2} ms, slowest {:.0} ms, {} failed",
            report.latency.p50_us as f64 / 1e3,
            report.latency.p99_us as f64 / 1e3,
            report.latency.max_us as f64 / 1e3,
            report.counts.failures()
        ))?;
    }
    output::line(format_args!(
        "with over without: rate {:.2}, p99 {:.2}; purged {} payloads and {} ledger entries",
        results.rate_ratio, results.p99_ratio, results.purged_events, results.purged_ledger
    ))?;
    let step = (results.samples.len() / 12).max(1);
    for sample in results.samples.iter().step_by(step) {
        output::line(format_args!(
            "after {:5.1} s: {:9} accepted, {:7} payloads and {:7} ledger entries expired and still there",
            sample.seconds, sample.accepted, sample.expired_events, sample.expired_ledger
        ))?;
    }
    let verdict = match results.standing() {
        Standing::Kept => "purging keeps pace",
        Standing::Behind => "purging does NOT keep pace",
    };
    output::line(format_args!(
        "expired and still there: {:.1} s of intake at most, {:.1} s in the last quarter, of {:.0} s allowed: {verdict}",
        results.peak_seconds, results.lag_seconds, results.lag_seconds_max
    ))
}

async fn measure(plan: &Plan, purging: Purging, parent: &Path) -> anyhow::Result<(Report, Arc<Counted>)> {
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    site::empty(plan).await?;
    site::rest(plan).await?;
    let own = format!("sqlite:{}", workspace.path().join("hapax.db").display());
    let url: StoreUrl = plan.store.clone().unwrap_or(own).parse()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let store = OpenStore::open(&url, None, &clock).await?;
    let counted = Arc::new(Counted::default());
    let parts = Parts {
        store: store.backend(),
        clock: Arc::clone(&clock),
        random: Arc::new(SystemRandom::new()),
        runtime: Arc::new(TokioRuntime),
        transport: Arc::new(Nowhere),
        observer: Arc::<Counted>::clone(&counted),
    };
    let limits = Limits {
        accept_in_flight: store.accepts_in_flight(),
        // Scaled like the windows: a second stands for a day.
        retain_every: match purging {
            Purging::Off => NEVER,
            Purging::On => SAMPLE_EVERY,
        },
        ..Limits::default()
    };
    let engine = Engine::start(parts, routing(), limits).await?;
    let report = load(&engine, &clock, Duration::from_secs(plan.seconds), &counted).await?;
    engine.shutdown(SHUTDOWN).await;
    store.close().await;
    Ok((report, counted))
}

fn routing() -> Routing {
    let route = Route {
        scope: STORED.into(),
        deliver_to: Vec::new(),
        ledger_window: LEDGER_WINDOW,
        payload_retention: PAYLOAD_RETENTION,
        dead_retention: PAYLOAD_RETENTION,
        rate: None,
        id_is_signed: true,
        same_body: SameBody::Flag,
        indexed: Vec::new(),
        on_conflict: OnConflict::default(),
    };
    Routing {
        sources: [(SourceName::from(STORED), route)].into(),
        destinations: std::collections::HashMap::new(),
    }
}

/// Accepts at full speed, and samples the counts.
async fn load(
    engine: &Engine,
    clock: &Arc<dyn Clock>,
    time_limit: Duration,
    counted: &Arc<Counted>,
) -> anyhow::Result<Report> {
    let tally = Arc::new(Mutex::new(Tally::new()?));
    let started = Instant::now();
    let senders = (0..CONNECTIONS).map(|_| {
        let (engine, clock) = (engine.clone(), Arc::clone(clock));
        let (tally, counted) = (Arc::clone(&tally), Arc::clone(counted));
        tokio::spawn(async move {
            while started.elapsed() < time_limit {
                let sent = Instant::now();
                let answer = engine.accept(vec![incoming(&*clock)]).await;
                let outcome = match answer.as_deref() {
                    Ok([Accepted::New { .. }]) => Outcome::Accepted,
                    Ok(_) => Outcome::OtherSuccess,
                    Err(_) => Outcome::Unavailable,
                };
                tally.lock().answer(0, outcome, sent.elapsed());
                counted.accepted.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let senders: Vec<_> = senders.collect();
    let sampling = sample(counted, started, time_limit);
    let (ended, ()) = tokio::join!(join_all(senders), sampling);
    for sender in ended {
        sender.context("a client ended early")?;
    }
    let report = tally.lock().report(CONNECTIONS, started.elapsed(), 0);
    Ok(report)
}

fn incoming(clock: &dyn Clock) -> IncomingEvent {
    IncomingEvent {
        source: STORED.into(),
        event_id: format!("evt_{:032x}", fastrand::u128(..)),
        earlier_id: None,
        event_type: Some("payment_intent.succeeded".to_owned()),
        signed_at: None,
        secret_index: None,
        received_at: clock.now(),
        headers: Headers::default(),
        body: Bytes::from_static(&[b'x'; BODY_BYTES]),
        content_hash: None,
        batch: None,
    }
}

/// Delivers nothing, because no destination is configured.
struct Nowhere;

#[async_trait]
impl Transport for Nowhere {
    async fn deliver(&self, _: &Leased) -> AttemptResult {
        AttemptResult::done(200)
    }
}

#[derive(Default)]
struct Counted {
    accepted: AtomicU64,
    purged_events: AtomicU64,
    purged_ledger: AtomicU64,
    samples: Mutex<Vec<Sample>>,
}

impl Observer for Counted {
    fn observe(&self, observation: &Observation<'_>) {
        if let Observation::Purged(purged) = observation {
            self.purged_events.fetch_add(purged.events, Ordering::Relaxed);
            self.purged_ledger.fetch_add(purged.ledger, Ordering::Relaxed);
        }
    }
}

async fn sample(counted: &Counted, started: Instant, time_limit: Duration) {
    while started.elapsed() < time_limit {
        tokio::time::sleep(SAMPLE_EVERY).await;
        let mut samples = counted.samples.lock();
        let seconds = started.elapsed().as_secs_f64();
        let expired = |window: Duration, purged: &AtomicU64| {
            accepted_before(&samples, seconds - window.as_secs_f64())
                .saturating_sub(purged.load(Ordering::Relaxed))
        };
        let sample = Sample {
            seconds,
            accepted: counted.accepted.load(Ordering::Relaxed),
            expired_events: expired(PAYLOAD_RETENTION, &counted.purged_events),
            expired_ledger: expired(LEDGER_WINDOW, &counted.purged_ledger),
        };
        samples.push(sample);
    }
}

/// The number of events accepted by then.
fn accepted_before(samples: &[Sample], seconds: f64) -> u64 {
    let before = samples.iter().rev().find(|sample| sample.seconds <= seconds);
    before.map_or(0, |sample| sample.accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_accepted_a_window_ago_has_expired() {
        let sample = |seconds, accepted| Sample {
            seconds,
            accepted,
            expired_events: 0,
            expired_ledger: 0,
        };
        let samples = [sample(1.0, 100), sample(2.0, 250)];
        assert_eq!(accepted_before(&samples, -4.0), 0);
        assert_eq!(accepted_before(&samples, 1.9), 100);
        assert_eq!(accepted_before(&samples, 2.0), 250);
    }
}

//! The cost of a live tail: the same load without and with it, in turns, at a fixed rate and at full speed.

use std::time::Duration;

use anyhow::Context as _;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::bench::median::median;
use crate::bench::plan::Plan;
use crate::child::{self, Load};
use crate::client::Order;
use crate::processor::processor_time;
use crate::report::{Latency, Report};
use crate::service::Site;
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::browser::Browser;

/// Events per second that a tail must keep up with.
const RATE: u32 = 2_000;
const CONNECTIONS: usize = 64;
/// Deliveries to prepare for each second at full speed: more than any store here accepts.
const FULL_PER_SECOND_MAX: u64 = 80_000;
/// How long after a run the last lines may still arrive.
const SETTLE: Duration = Duration::from_secs(2);

#[derive(Debug, Default, Serialize)]
pub(crate) struct Tail {
    /// At the fixed rate: the median time to an answer, in microseconds.
    paced_p50_us: Sides,
    /// The same for the 99th percentile.
    paced_p99_us: Sides,
    /// At the fixed rate: processor time of the service per event, in microseconds.
    paced_processor_us: Sides,
    /// At full speed: accepts per second.
    full_per_second: Sides,
    /// At full speed: processor time of the service per event, in microseconds.
    full_processor_us: Sides,
    /// Events accepted at the fixed rate while the tail was open.
    sent: u64,
    /// Events that the tail showed or, above the number that a page draws, counted.
    shown: u64,
    /// Events that the tail reported as missed.
    missed: u64,
}

/// One figure of every round, without and with a tail.
#[derive(Debug, Default, Serialize)]
struct Sides {
    without: Vec<f64>,
    with: Vec<f64>,
}

impl Sides {
    fn add(&mut self, without: f64, with: f64) {
        self.without.push(without);
        self.with.push(with);
    }

    /// The median with a tail divided by the median without: a single round says more about the disk than about the
    /// tail.
    fn ratio(&self) -> f64 {
        median(self.with.iter().copied()) / median(self.without.iter().copied())
    }
}

/// Measures the plan's number of rounds.
pub(super) async fn measure(site: &Site, pid: u32, secret: &str, plan: &Plan) -> anyhow::Result<Tail> {
    let mut found = Tail::default();
    let progress = Progress::new(plan.rounds as u64 * 4);
    for number in 0..plan.rounds {
        for pace in [Pace::At(RATE), Pace::Full] {
            let runner = Runner {
                site,
                pid,
                secret,
                plan,
                pace,
            };
            progress.say(format!(
                "round {}: accepts without and with a tail, {}",
                number + 1,
                pace.label()
            ));
            // Every second round runs in reverse order, so that a machine that slows down or speeds up favours neither
            // side.
            let (without, with) = if number % 2 == 0 {
                let without = runner.without().await?;
                (without, runner.with().await?)
            } else {
                let with = runner.with().await?;
                (runner.without().await?, with)
            };
            found.add(pace, &without, with);
            progress.set(progress_of(number, pace));
        }
    }
    progress.end();
    Ok(found)
}

const fn progress_of(number: usize, pace: Pace) -> u64 {
    number as u64 * 4
        + match pace {
            Pace::At(_) => 2,
            Pace::Full => 4,
        }
}

/// Prints the result, and whether the target was met.
pub(super) fn print(tail: &Tail, slowdown_max: f64) -> std::io::Result<()> {
    output::line(format_args!(
        "live tail at {RATE}/s: {} sent, {} shown, {} missed",
        tail.sent, tail.shown, tail.missed
    ))?;
    let rows = [
        ("time to an answer at the rate, p50", &tail.paced_p50_us),
        ("time to an answer at the rate, p99", &tail.paced_p99_us),
        (
            "processor time for each event at the rate",
            &tail.paced_processor_us,
        ),
        ("accepts a second at full speed", &tail.full_per_second),
        (
            "processor time for each event at full speed",
            &tail.full_processor_us,
        ),
    ];
    for (name, sides) in rows {
        output::line(format_args!(
            "{name}: with a tail over without {:.3}",
            sides.ratio()
        ))?;
    }
    let kept_up = tail.missed == 0 && tail.shown == tail.sent;
    let is_quick =
        tail.paced_p50_us.ratio() <= 1.0 + slowdown_max && tail.full_per_second.ratio() >= 1.0 - slowdown_max;
    output::line(if kept_up && is_quick {
        "the tail kept up and slowed accepts by less than the limit"
    } else {
        "the tail did not keep up, or slowed accepts by more than the limit"
    })
}

#[derive(Clone, Copy)]
enum Pace {
    At(u32),
    Full,
}

impl Pace {
    fn label(self) -> String {
        match self {
            Self::At(rate) => format!("{rate} a second"),
            Self::Full => "at full speed".to_owned(),
        }
    }
}

impl Tail {
    fn add(&mut self, pace: Pace, without: &Run, (with, seen): (Run, Seen)) {
        let latency = |percentile: fn(&Latency) -> u64, run: &Run| percentile(&run.report.latency) as f64;
        match pace {
            Pace::At(_) => {
                let (p50, p99) = (|one: &Latency| one.p50_us, |one: &Latency| one.p99_us);
                self.paced_p50_us.add(latency(p50, without), latency(p50, &with));
                self.paced_p99_us.add(latency(p99, without), latency(p99, &with));
                self.paced_processor_us
                    .add(without.processor_us(), with.processor_us());
                self.sent += with.report.counts.accepted;
                self.shown += seen.shown;
                self.missed += seen.missed;
            }
            Pace::Full => {
                self.full_per_second
                    .add(without.report.per_second, with.report.per_second);
                self.full_processor_us
                    .add(without.processor_us(), with.processor_us());
            }
        }
    }
}

/// One run of the load.
struct Run {
    report: Report,
    /// Processor time that the service used during the run.
    processor: Duration,
}

impl Run {
    fn processor_us(&self) -> f64 {
        self.processor.as_secs_f64() * 1e6 / self.report.counts.accepted.max(1) as f64
    }
}

struct Runner<'a> {
    site: &'a Site,
    pid: u32,
    secret: &'a str,
    plan: &'a Plan,
    pace: Pace,
}

impl Runner<'_> {
    async fn without(&self) -> anyhow::Result<Run> {
        let (rate, per_second) = match self.pace {
            Pace::At(rate) => (Some(rate), u64::from(rate)),
            Pace::Full => (None, FULL_PER_SECOND_MAX),
        };
        let load = Load {
            address: self.site.ingest(),
            path: "/in/stripe",
            secret: self.secret,
            connections: CONNECTIONS,
            seconds: self.plan.seconds,
            distinct: (per_second * self.plan.seconds) as usize,
            conflicting: None,
            ids: None,
            seed: fastrand::u64(..),
            order: Order::Once,
            rate,
        };
        let before = processor_time(self.pid).context("the service's times cannot be read")?;
        let report = child::load(&load).await?;
        let after = processor_time(self.pid).context("the service's times cannot be read")?;
        Ok(Run {
            report,
            processor: after.saturating_sub(before),
        })
    }

    /// The same while a browser follows the tail.
    async fn with(&self) -> anyhow::Result<(Run, Seen)> {
        let watcher = Watcher::start(self.site).await?;
        let run = self.without().await?;
        let seen = watcher.end().await?;
        Ok((run, seen))
    }
}

/// What a tail received.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    shown: u64,
    missed: u64,
}

struct Watcher {
    stop: CancellationToken,
    task: JoinHandle<anyhow::Result<Seen>>,
}

impl Watcher {
    async fn start(site: &Site) -> anyhow::Result<Self> {
        let mut lines = Browser::sign_in(site).await?.follow().await?;
        let stop = CancellationToken::new();
        let ended = stop.clone();
        let task = tokio::spawn(async move {
            let mut seen = Seen::default();
            loop {
                let line = tokio::select! {
                    line = lines.next_line() => line?.context("the service ended the tail")?,
                    () = ended.cancelled() => return Ok(seen),
                };
                // A message is one chunk, so no line is split.
                if let Some(data) = line.strip_prefix("data: ") {
                    seen.add(&serde_json::from_str(data)?);
                }
            }
        });
        Ok(Self { stop, task })
    }

    async fn end(self) -> anyhow::Result<Seen> {
        tokio::time::sleep(SETTLE).await;
        self.stop.cancel();
        self.task.await.context("the watcher failed")?
    }
}

/// One message of the tail.
#[derive(Debug, Deserialize)]
struct Batch {
    events: Vec<IgnoredAny>,
    more: u64,
    missed: u64,
}

impl Seen {
    fn add(&mut self, batch: &Batch) {
        self.shown += batch.events.len() as u64 + batch.more;
        self.missed += batch.missed;
    }
}

//! The cost of telemetry when its receivers fail: accepts without it, and with a trace receiver that never answers and
//! an alert receiver that is gone, in turns.
//!
//! Each side of a pair is a fresh service on a fresh store, and every second pair runs in reverse order, so that a
//! machine that slows down or speeds up favours neither side. The service's own metrics confirm that an alert fires and
//! that spans were made.

mod receiver;
mod verdict;

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use crate::connection::{Connection, get};
use crate::machine::Machine;
use crate::service::{Settings, Site, quoted};
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::plan::Plan;
use super::round::unexpected;
use super::site::{self, Loads, STORED};
use receiver::Hanging;
use verdict::Pair;
pub use verdict::Standing;
pub(in crate::bench) use verdict::sum_of;

const CONNECTIONS: usize = 256;
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// Rules are evaluated every ten seconds.
const ALERT_LIMIT: Duration = Duration::from_secs(60);
const ALERT_EVERY: Duration = Duration::from_millis(200);

#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    seconds: u64,
    pairs: Vec<Pair>,
    /// The median of the pairs: accepts per second with telemetry divided by those without.
    ratio: f64,
    /// The minimum ratio.
    ratio_min: f64,
    /// Unexpected results.
    problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Without,
    With,
}

/// The result of one side.
struct Measured {
    per_second: f64,
    spans: u64,
    problems: Vec<String>,
}

impl Results {
    /// Whether telemetry meets its target.
    pub fn standing(&self) -> Standing {
        verdict::standing(self.ratio, &self.problems)
    }
}

/// Measures one pair per round of the plan.
pub async fn run(plan: &Plan) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let progress = Progress::new(plan.rounds as u64 * 2);
    let mut pairs = Vec::with_capacity(plan.rounds);
    let mut problems = Vec::new();
    for number in 0..plan.rounds {
        let mut pair = Pair::default();
        for side in order(number) {
            progress.say(format!("pair {}: accepts {}", number + 1, side.label()));
            let measured = measure(plan, side, workspace.path()).await?;
            match side {
                Side::Without => pair.without = measured.per_second,
                Side::With => {
                    pair.with = measured.per_second;
                    pair.spans = measured.spans;
                }
            }
            problems.extend(measured.problems);
            progress.step();
        }
        pairs.push(pair);
    }
    progress.end();
    Ok(Results {
        machine,
        seconds: plan.seconds,
        ratio: verdict::ratio(&pairs),
        ratio_min: verdict::RATIO_MIN,
        pairs,
        problems,
    })
}

pub fn print(results: &Results) -> std::io::Result<()> {
    output::line(format_args!(
        "{} cores, {} pairs of {} s each, {CONNECTIONS} connections",
        results.machine.cores,
        results.pairs.len(),
        results.seconds
    ))?;
    for pair in &results.pairs {
        output::line(format_args!(
            "accepts without telemetry {:.0}/s, with {:.0}/s: {:.3} ({} spans)",
            pair.without,
            pair.with,
            pair.ratio(),
            pair.spans
        ))?;
    }
    let verdict = match results.standing() {
        Standing::Reached => "reached",
        Standing::Missed => "MISSED",
    };
    output::line(format_args!(
        "median ratio {:.3}, at least {:.2}: {verdict}",
        results.ratio, results.ratio_min
    ))?;
    for problem in &results.problems {
        output::warning(problem);
    }
    Ok(())
}

const fn order(number: usize) -> [Side; 2] {
    if number.is_multiple_of(2) {
        [Side::Without, Side::With]
    } else {
        [Side::With, Side::Without]
    }
}

impl Side {
    const fn label(self) -> &'static str {
        match self {
            Self::Without => "without telemetry",
            Self::With => "with receivers that never answer or are gone",
        }
    }
}

async fn measure(plan: &Plan, side: Side, parent: &Path) -> anyhow::Result<Measured> {
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    site::empty(plan).await?;
    let receiver = Hanging::start().await?;
    let secret = format!("whsec_{:032x}", fastrand::u128(..));
    let place = create(plan, side, &receiver, &secret, workspace.path())?;
    let service = place.start().await?;
    if side == Side::With {
        until_an_alert_fails(&place).await?;
    }
    let loads = Loads {
        secret: &secret,
        seconds: plan.seconds,
    };
    let report = loads.new_events(place.ingest(), CONNECTIONS).await?;
    let spans = verdict::sum_of(&metrics(&place).await?, verdict::SPANS);
    service.end().await?;
    let mut problems: Vec<String> = unexpected(side.label(), &report, report.counts.accepted)
        .into_iter()
        .collect();
    problems.extend(verdict::untraced(side, spans, report.counts.accepted));
    Ok(Measured {
        per_second: report.per_second,
        spans,
        problems,
    })
}

fn create(plan: &Plan, side: Side, receiver: &Hanging, secret: &str, folder: &Path) -> anyhow::Result<Site> {
    let own = format!("sqlite:{}", folder.join("hapax.db").display());
    let telemetry = match side {
        Side::Without => String::new(),
        Side::With => format!(
            "\n[traces]\nendpoint = {}\n\
             \n[alerts]\nsignature_failures = 0\n\
             \n[alerts.receivers.gone]\nkind = \"webhook\"\nurl = {}\n",
            quoted(&format!("http://{}", receiver.address())),
            quoted(&format!("http://{}/", receiver::closed()?)),
        ),
    };
    Site::create(
        folder,
        &Settings {
            store_url: plan.store.clone().unwrap_or(own),
            encryption_key: None,
            sources: vec![(STORED, vec![])],
            secret: secret.to_owned(),
            destinations: telemetry,
        },
    )
}

/// Sends a request without a signature, which exceeds the rule's limit: an alert fires, and cannot be delivered.
async fn until_an_alert_fails(site: &Site) -> anyhow::Result<()> {
    let unsigned = format!("POST /in/{STORED} HTTP/1.1\r\nhost: bench\r\ncontent-length: 2\r\n\r\n{{}}");
    let mut connection = Connection::open(site.ingest()).await?;
    let answer = connection.exchange(unsigned.as_bytes()).await?;
    anyhow::ensure!(
        answer.status == 401,
        "an unsigned request was answered {}",
        answer.status
    );
    let fails = async {
        while verdict::sum_of(&metrics(site).await?, verdict::UNTOLD) == 0 {
            tokio::time::sleep(ALERT_EVERY).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(ALERT_LIMIT, fails)
        .await
        .context("no alert fired, although its threshold was exceeded")?
}

async fn metrics(site: &Site) -> anyhow::Result<String> {
    let (status, body) = get(site.admin(), "/metrics", site.token(), PROBE_LIMIT).await?;
    anyhow::ensure!(status == 200, "/metrics answered {status}");
    String::from_utf8(body).context("/metrics is not text")
}

//! How much an attack costs a correctly signed source: its rate alone and under attack, in one run.
//!
//! In each round a fresh service is first driven as fast as it answers, which gives its peak, and then at half of that,
//! alone and during an attack by 500 connections from 127.0.0.2; every second round swaps the two. The attacker shares
//! the machine with the service, so it runs at the lowest priority: the figure is about the resources that the service
//! lets it take. The service's own metrics confirm that the attack took place.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use crate::child::{self, Attack, Load};
use crate::client::Order;
use crate::connection::get;
use crate::machine::Machine;
use crate::report::Report;
use crate::service::Site;
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::median::median;
use super::plan::{NEW_PER_SECOND_MAX, Plan};
use super::round::unexpected;
use super::site::{self, STORED};
use super::telemetry::sum_of;

const CONNECTIONS: usize = 64;
const HOSTILE_CONNECTIONS: usize = 500;
const PATH: &str = "/in/bench";
/// The share of its rate that a source must keep.
const RATIO_MIN: f64 = 0.9;
const PROBE_LIMIT: Duration = Duration::from_secs(10);
/// Lines of `/metrics` that count refusals.
const REFUSALS: &str = "hapax_rejected_total{";

#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    seconds: u64,
    hostile_connections: usize,
    rounds: Vec<Round>,
    /// The median of the rounds: events per second under attack divided by those without.
    ratio: f64,
    /// The minimum ratio.
    ratio_min: f64,
    /// Unexpected results: any answer to the source that was not a success.
    problems: Vec<String>,
}

/// Events per second of the correctly signed source.
#[derive(Clone, Debug, Default, Serialize)]
struct Round {
    /// As fast as they are answered.
    peak: f64,
    /// At half of the peak.
    alone: f64,
    /// At half of the peak, under attack.
    attacked: f64,
    /// The 99th percentile of the time to an answer, in microseconds.
    alone_p99_us: u64,
    attacked_p99_us: u64,
    /// Refused requests of the attacker.
    refusals: u64,
}

/// Whether the source kept its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It did, without a single refusal.
    Kept,
    Lost,
}

impl Results {
    pub fn standing(&self) -> Standing {
        if self.ratio >= self.ratio_min && self.problems.is_empty() {
            Standing::Kept
        } else {
            Standing::Lost
        }
    }
}

impl Round {
    fn ratio(&self) -> f64 {
        if self.alone > 0.0 {
            self.attacked / self.alone
        } else {
            0.0
        }
    }
}

/// Measures the plan's number of rounds.
pub async fn run(plan: &Plan) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let progress = Progress::new(plan.rounds as u64 * 3);
    let mut rounds = Vec::with_capacity(plan.rounds);
    let mut problems = Vec::new();
    for number in 0..plan.rounds {
        let measured = measure(plan, number, workspace.path(), &progress, &mut problems).await?;
        rounds.push(measured);
    }
    progress.end();
    Ok(Results {
        machine,
        seconds: plan.seconds,
        hostile_connections: HOSTILE_CONNECTIONS,
        ratio: median(rounds.iter().map(Round::ratio)),
        ratio_min: RATIO_MIN,
        rounds,
        problems,
    })
}

pub fn print(results: &Results) -> std::io::Result<()> {
    output::line(format_args!(
        "{} cores, {} rounds of 3 × {} s, {CONNECTIONS} connections, {} hostile ones",
        results.machine.cores,
        results.rounds.len(),
        results.seconds,
        results.hostile_connections
    ))?;
    for round in &results.rounds {
        output::line(format_args!(
            "peak {:.0}/s; at half of it {:.0}/s (p99 {:.1} ms), under attack {:.0}/s (p99 {:.1} ms): {:.3}; {} refusals",
            round.peak,
            round.alone,
            round.alone_p99_us as f64 / 1000.0,
            round.attacked,
            round.attacked_p99_us as f64 / 1000.0,
            round.ratio(),
            round.refusals,
        ))?;
    }
    let verdict = match results.standing() {
        Standing::Kept => "kept",
        Standing::Lost => "LOST",
    };
    output::line(format_args!(
        "median ratio {:.3}, at least {:.2}, and no refusal: {verdict}",
        results.ratio, results.ratio_min
    ))?;
    for problem in &results.problems {
        output::warning(problem);
    }
    Ok(())
}

async fn measure(
    plan: &Plan,
    number: usize,
    parent: &Path,
    progress: &Progress,
    problems: &mut Vec<String>,
) -> anyhow::Result<Round> {
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    site::empty(plan).await?;
    let secret = format!("whsec_{:032x}", fastrand::u128(..));
    let place = site::create(workspace.path(), plan.store.as_deref(), None, &secret)?;
    let service = place.start().await?;
    let driving = Driving {
        place: &place,
        secret: &secret,
        seconds: plan.seconds,
    };
    let mut round = Round::default();
    let say = |what: &str| progress.say(format!("round {}: {what}", number + 1));
    say("peak");
    round.peak = driving.run(None, problems).await?.per_second;
    progress.step();
    let half = (round.peak / 2.0).max(1.0) as u32;
    let is_attacked_first = !number.is_multiple_of(2);
    for is_attacked in [is_attacked_first, !is_attacked_first] {
        if is_attacked {
            say("half of it, under attack");
            let attack = Attack::start(place.ingest(), PATH, HOSTILE_CONNECTIONS).await?;
            let report = driving.run(Some(half), problems).await?;
            (round.attacked, round.attacked_p99_us) = (report.per_second, report.latency.p99_us);
            drop(attack);
        } else {
            say("half of it, alone");
            let report = driving.run(Some(half), problems).await?;
            (round.alone, round.alone_p99_us) = (report.per_second, report.latency.p99_us);
        }
        progress.step();
    }
    round.refusals = refusals(&place).await?;
    if round.refusals < HOSTILE_CONNECTIONS as u64 / 5 {
        problems.push(format!(
            "only {} requests of the attacker were refused",
            round.refusals
        ));
    }
    service.end().await?;
    Ok(round)
}

/// The correctly signed source.
struct Driving<'a> {
    place: &'a Site,
    secret: &'a str,
    seconds: u64,
}

impl Driving<'_> {
    /// Sends new events at a rate, or as fast as they are answered.
    async fn run(&self, rate: Option<u32>, problems: &mut Vec<String>) -> anyhow::Result<Report> {
        let per_second = rate.map_or(NEW_PER_SECOND_MAX, |rate| rate as usize + 1);
        let load = Load {
            address: self.place.ingest(),
            path: PATH,
            secret: self.secret,
            connections: CONNECTIONS,
            seconds: self.seconds,
            distinct: per_second * self.seconds as usize,
            conflicting: None,
            seed: fastrand::u64(..),
            order: Order::Once,
            rate,
        };
        let report = child::load(&load).await?;
        problems.extend(unexpected(STORED, &report, report.counts.accepted));
        Ok(report)
    }
}

async fn refusals(place: &Site) -> anyhow::Result<u64> {
    let (status, body) = get(place.admin(), "/metrics", place.token(), PROBE_LIMIT).await?;
    anyhow::ensure!(status == 200, "/metrics answered {status}");
    let text = String::from_utf8(body).context("/metrics is not text")?;
    Ok(sum_of(&text, REFUSALS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_of_what_was_reached_alone() {
        let round = Round {
            peak: 300.0,
            alone: 100.0,
            attacked: 95.0,
            ..Round::default()
        };
        assert!((round.ratio() - 0.95).abs() < 1e-9);
        assert!(Round::default().ratio().abs() < 1e-9);
    }
}

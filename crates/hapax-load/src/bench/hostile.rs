//! How much an attack costs a correctly signed source: its rate alone and under attack, in one run.
//!
//! In each round a fresh service is first driven as fast as it answers, which gives its peak, and then at half of that,
//! alone and during an attack by 500 connections from 127.0.0.2; every second round swaps the two. The attacker shares
//! the machine with the service, so it runs at the lowest priority: the figure is about the resources that the service
//! lets it take. The service's own metrics confirm that the attack took place.

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

use crate::child::{self, Attack, Load};
use crate::client::Order;
use crate::machine::Machine;
use crate::service::{Site, new_secret};
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::comparison::{self, Side, Verdict};
use super::database::Database;
use super::meter::{Meter, Rate};
use super::plan::{NEW_PER_SECOND_MAX, Plan};
use super::round::unexpected;
use super::site::{self, STORED};

const CONNECTIONS: usize = 64;
const HOSTILE_CONNECTIONS: usize = 500;
const PATH: &str = "/in/bench";
/// The share of its rate that a source must keep.
const RATIO_MIN: f64 = 0.9;
/// Lines of `/metrics` that count refusals.
const REFUSALS: &str = "hapax_rejected_total{";

#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    seconds: u64,
    hostile_connections: usize,
    rounds: Vec<Round>,
    /// Of events per second under attack and without. Any answer to the source that was not a success is a problem.
    #[serde(flatten)]
    verdict: Verdict,
}

/// Events of the correctly signed source.
#[derive(Clone, Debug, Default, Serialize)]
struct Round {
    /// As fast as they are answered.
    peak: Rate,
    /// At half of the peak.
    alone: Rate,
    /// At half of the peak, under attack; what the attack costs is part of the processor time.
    attacked: Rate,
    /// The 99th percentile of the time to an answer, in microseconds.
    alone_p99_us: u64,
    attacked_p99_us: u64,
    /// Refused requests of the attacker.
    refusals: u64,
}

impl Results {
    /// Whether the source kept its rate, without a single refusal.
    pub fn is_reached(&self) -> bool {
        self.verdict.is_reached()
    }
}

impl Round {
    fn ratio(&self) -> f64 {
        comparison::ratio(self.attacked.per_second, self.alone.per_second)
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
        verdict: Verdict::new(rounds.iter().map(Round::ratio), RATIO_MIN, problems),
        rounds,
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
            "peak {}; at half of it {} (p99 {:.1} ms), under attack {} (p99 {:.1} ms): {:.3}; {} refusals",
            round.peak,
            round.alone,
            round.alone_p99_us as f64 / 1000.0,
            round.attacked,
            round.attacked_p99_us as f64 / 1000.0,
            round.ratio(),
            round.refusals,
        ))?;
    }
    results.verdict.print(", and no refusal", ["kept", "LOST"])
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
    let secret = new_secret();
    let place = site::create(workspace.path(), plan.store.as_deref(), None, &secret)?;
    let service = place.start().await?;
    let pid = service.pid().context("the service has no process id")?;
    let database = Database::find(plan).await?;
    let driving = Driving {
        place: &place,
        secret: &secret,
        seconds: plan.seconds,
        meter: Meter::new(pid, &database),
    };
    let mut round = Round::default();
    let say = |what: &str| progress.say(format!("round {}: {what}", number + 1));
    say("peak");
    (round.peak, _) = driving.run(None, problems).await?;
    progress.step();
    let half = (round.peak.per_second / 2.0).max(1.0) as u32;
    for side in comparison::order(number) {
        match side {
            Side::Without => {
                say("half of it, alone");
                (round.alone, round.alone_p99_us) = driving.run(Some(half), problems).await?;
            }
            Side::With => {
                say("half of it, under attack");
                let attack = Attack::start(place.ingest(), PATH, HOSTILE_CONNECTIONS).await?;
                (round.attacked, round.attacked_p99_us) = driving.run(Some(half), problems).await?;
                drop(attack);
            }
        }
        progress.step();
    }
    round.refusals = site::sum_of(&site::metrics(&place).await?, REFUSALS);
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
    meter: Meter<'a>,
}

impl Driving<'_> {
    /// Sends new events at a rate, or as fast as they are answered; returns what was reached, and the 99th percentile in
    /// microseconds.
    async fn run(&self, rate: Option<u32>, problems: &mut Vec<String>) -> anyhow::Result<(Rate, u64)> {
        let per_second = rate.map_or(NEW_PER_SECOND_MAX, |rate| rate as usize + 1);
        let load = Load {
            address: self.place.ingest(),
            path: PATH,
            secret: self.secret,
            connections: CONNECTIONS,
            seconds: self.seconds,
            distinct: per_second * self.seconds as usize,
            conflicting: None,
            ids: None,
            seed: fastrand::u64(..),
            order: Order::Once,
            rate,
        };
        let running = self.meter.start();
        let report = child::load(&load).await?;
        let spent = running.end();
        problems.extend(unexpected(STORED, &report, report.counts.accepted));
        Ok((Rate::of(&report, spent), report.latency.p99_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_of_what_was_reached_alone() {
        let rate = |per_second| Rate {
            per_second,
            ..Rate::default()
        };
        let round = Round {
            peak: rate(300.0),
            alone: rate(100.0),
            attacked: rate(95.0),
            ..Round::default()
        };
        assert!((round.ratio() - 0.95).abs() < 1e-9);
        assert!(Round::default().ratio().abs() < 1e-9);
    }
}

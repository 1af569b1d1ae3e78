//! One rate with something and without it, in turns. Each side of a pair is a fresh service on a fresh store, and every
//! second pair runs in reverse order, so that a machine that slows down or speeds up favours neither side.

use std::fmt::Display;
use std::path::Path;

use serde::Serialize;

use crate::machine::Machine;
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::database::Database;
use super::median::median;
use super::plan::Plan;
use super::site;

pub(super) const CONNECTIONS: usize = 256;

#[derive(Debug, Serialize)]
pub struct Comparison<P> {
    machine: Machine,
    seconds: u64,
    pairs: Vec<P>,
    #[serde(flatten)]
    verdict: Verdict,
}

#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    /// The median of the pairs: the rate with it divided by the rate without.
    ratio: f64,
    /// The minimum ratio.
    ratio_min: f64,
    /// Unexpected results.
    problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Without,
    With,
}

/// The rates of both sides, measured back to back.
pub(super) trait Pair: Default + Display {
    /// The share of the rate that must be kept.
    const RATIO_MIN: f64;

    fn label(side: Side) -> &'static str;

    fn ratio(&self) -> f64;

    /// Measures one side in this folder, and returns what was unexpected.
    async fn measure(
        &mut self,
        plan: &Plan,
        database: &Database,
        side: Side,
        folder: &Path,
    ) -> anyhow::Result<Vec<String>>;
}

/// Measures one pair per round of the plan.
pub(super) async fn run<P: Pair>(plan: &Plan) -> anyhow::Result<Comparison<P>> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let database = Database::find(plan).await?;
    let progress = Progress::new(plan.rounds as u64 * 2);
    let mut pairs: Vec<P> = Vec::with_capacity(plan.rounds);
    let mut problems = Vec::new();
    for number in 0..plan.rounds {
        let mut pair = P::default();
        for side in order(number) {
            progress.say(format!("pair {}: {}", number + 1, P::label(side)));
            let fresh = Workspace::create(workspace.path(), Afterwards::Remove)?;
            site::empty(plan).await?;
            problems.extend(pair.measure(plan, &database, side, fresh.path()).await?);
            progress.step();
        }
        pairs.push(pair);
    }
    progress.end();
    Ok(Comparison {
        machine,
        seconds: plan.seconds,
        verdict: Verdict::new(pairs.iter().map(P::ratio), P::RATIO_MIN, problems),
        pairs,
    })
}

pub(super) fn print<P: Pair>(results: &Comparison<P>) -> std::io::Result<()> {
    output::line(format_args!(
        "{} cores, {} pairs of {} s each, {CONNECTIONS} connections",
        results.machine.cores,
        results.pairs.len(),
        results.seconds
    ))?;
    for pair in &results.pairs {
        output::line(format_args!("{pair}"))?;
    }
    results.verdict.print("", ["reached", "MISSED"])
}

impl<P> Comparison<P> {
    /// Whether the target is met.
    pub fn is_reached(&self) -> bool {
        self.verdict.is_reached()
    }
}

impl Verdict {
    pub(super) fn new(ratios: impl Iterator<Item = f64>, ratio_min: f64, problems: Vec<String>) -> Self {
        Self {
            ratio: median(ratios),
            ratio_min,
            problems,
        }
    }

    /// A run with a problem proves nothing, whatever its ratio.
    pub(super) fn is_reached(&self) -> bool {
        self.ratio >= self.ratio_min && self.problems.is_empty()
    }

    /// Prints it with what else is wanted, and with the words for a target that is met and for one that is not.
    pub(super) fn print(&self, more: &str, [met, missed]: [&str; 2]) -> std::io::Result<()> {
        let word = if self.is_reached() { met } else { missed };
        output::line(format_args!(
            "median ratio {:.3}, at least {:.2}{more}: {word}",
            self.ratio, self.ratio_min
        ))?;
        for problem in &self.problems {
            output::warning(problem);
        }
        Ok(())
    }
}

/// The order in which a pair measures its sides.
pub(super) const fn order(number: usize) -> [Side; 2] {
    if number.is_multiple_of(2) {
        [Side::Without, Side::With]
    } else {
        [Side::With, Side::Without]
    }
}

/// The rate with something as a share of the rate without.
pub(super) fn ratio(with: f64, without: f64) -> f64 {
    if without > 0.0 { with / without } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_pairs_decides() {
        let pairs = [(90.0, 100.0), (196.0, 200.0), (99.0, 100.0)];
        let ratios = pairs.iter().map(|(with, without)| ratio(*with, *without));
        let verdict = Verdict::new(ratios, 0.97, vec![]);
        assert!((verdict.ratio - 0.98).abs() < 1e-9 && verdict.is_reached());
        assert!(!Verdict::new([0.969].into_iter(), 0.97, vec![]).is_reached());
        assert!(ratio(5.0, 0.0).abs() < 1e-9);
    }

    #[test]
    fn a_run_with_a_problem_proves_nothing() {
        let verdict = Verdict::new([1.0].into_iter(), 0.97, vec!["it is odd".to_owned()]);
        assert!(!verdict.is_reached());
    }
}

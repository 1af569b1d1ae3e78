//! The published benchmark: Hapax beside its ceiling, in one run.
//!
//! Rounds alternate between the ceiling and the service, so that both see the same machine; every figure is the median
//! of its rounds, and every ratio is taken within a round. The client is a process of its own, ids are random, and the
//! store is on a disk.

mod backlog;
pub(crate) mod dashboard;
pub(crate) mod encryption;
mod figure;
pub(crate) mod hostile;
mod ledger;
mod plan;
mod remembered;
pub(crate) mod retention;
mod round;
mod site;
mod table;
pub(crate) mod telemetry;

use serde::Serialize;

use super::machine::Machine;
use super::progress::Progress;
use super::redis::Persistence;
use super::workspace::{Afterwards, Workspace};

pub(crate) use backlog::Backlog;
pub(crate) use figure::Figure;
pub(crate) use ledger::Ledger;
pub(crate) use plan::{Plan, SECONDS_MAX};
pub(crate) use remembered::Remembered;
pub(crate) use round::Round;
pub(crate) use table::print;

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    /// Where it was measured.
    pub(crate) machine: Machine,
    /// What was run.
    pub(crate) plan: Plan,
    /// How safely the store writes, where that is Redis.
    pub(crate) redis: Option<Persistence>,
    /// The figures, with their targets.
    pub(crate) figures: Vec<Figure>,
    /// What was not as it should be: answers that were no success, events that were not new.
    pub(crate) problems: Vec<String>,
    /// What each round found.
    pub(crate) rounds: Vec<Round>,
    /// A large ledger beside an empty one.
    pub(crate) ledger: Option<Ledger>,
    /// What events cost in memory whose payloads are gone.
    pub(crate) remembered: Vec<Remembered>,
    /// A long backlog beside a short one.
    pub(crate) backlog: Option<Backlog>,
}

/// Runs the plan.
pub(crate) async fn run(plan: Plan) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let redis = site::persistence(&plan).await?;
    let mut rounds = Vec::with_capacity(plan.rounds);
    let progress = Progress::new(plan.steps());
    for number in 0..plan.rounds {
        rounds.push(round::run(&plan, number, workspace.path(), &progress).await?);
    }
    progress.end();
    let ledger = match plan.preload {
        0 => None,
        entries => Some(ledger::run(&plan, entries, workspace.path()).await?),
    };
    let remembered = remembered::run(&plan).await?;
    let backlog = match plan.backlog {
        0 => None,
        deliveries => Some(backlog::run(&plan, deliveries, workspace.path()).await?),
    };
    let mut figures = figure::all(&rounds, plan.kind());
    figures.extend(ledger.iter().flat_map(figure::against_empty));
    figures.extend(remembered.iter().map(figure::of_remembered));
    figures.extend(backlog.iter().flat_map(figure::against_short));
    let mut problems: Vec<String> = redis.iter().filter_map(Persistence::problem).collect();
    problems.extend(rounds.iter().flat_map(|round| round.problems.clone()));
    problems.extend(ledger.iter().flat_map(|ledger| ledger.problems.clone()));
    Ok(Results {
        machine,
        plan,
        redis,
        figures,
        problems,
        rounds,
        ledger,
        remembered,
        backlog,
    })
}

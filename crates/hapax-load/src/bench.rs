//! The published benchmark: Hapax and its ceiling, in one run.
//!
//! Rounds alternate between the ceiling and the service, so that both see the same machine. Every figure is the median
//! of its rounds, and every ratio is taken within a round. The client runs in its own process, ids are random, and the
//! store is on a disk.

mod backlog;
mod comparison;
pub mod dashboard;
mod database;
pub mod encryption;
mod figure;
pub mod growth;
pub mod hostile;
mod ledger;
mod lone;
mod median;
mod meter;
mod plan;
mod purge;
mod remembered;
pub mod retention;
mod round;
mod site;
mod table;
pub mod telemetry;

use serde::Serialize;

use super::machine::Machine;
use super::redis::Persistence;
use super::workspace::{Afterwards, Workspace};
use hapax_terminal::progress::Progress;

pub(crate) use backlog::Backlog;
pub use comparison::Comparison;
use database::Database;
pub(crate) use figure::Figure;
pub(crate) use ledger::Ledger;
pub(crate) use lone::Lone;
pub use plan::{Plan, SECONDS_MAX};
pub(crate) use remembered::Remembered;
pub(crate) use round::Round;
pub use table::print;

#[derive(Debug, Serialize)]
pub struct Results {
    pub machine: Machine,
    pub plan: Plan,
    /// How safely the store writes, if it is Redis.
    pub redis: Option<Persistence>,
    /// The figures, with their targets.
    pub figures: Vec<Figure>,
    /// What the figures leave out.
    pub notes: Vec<String>,
    /// Unexpected results: answers that were not a success, events that were not new.
    pub problems: Vec<String>,
    pub rounds: Vec<Round>,
    /// A large ledger compared with an empty one.
    pub ledger: Option<Ledger>,
    /// The memory that events need after their payloads were purged.
    pub remembered: Vec<Remembered>,
    /// A long backlog compared with a short one.
    pub backlog: Option<Backlog>,
    /// Events that come one at a time.
    pub lone: Lone,
}

pub async fn run(plan: Plan) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let redis = site::persistence(&plan).await?;
    let database = Database::find(&plan).await?;
    let mut rounds = Vec::with_capacity(plan.rounds);
    let progress = Progress::new(plan.steps());
    for number in 0..plan.rounds {
        rounds.push(round::run(&plan, number, &database, workspace.path(), &progress).await?);
    }
    progress.end();
    let ledger = match plan.preload {
        0 => None,
        entries => Some(ledger::run(&plan, entries, workspace.path()).await?),
    };
    let remembered = remembered::run(&plan).await?;
    let backlog = match plan.backlog {
        0 => None,
        deliveries => Some(backlog::run(&plan, deliveries, &database, workspace.path()).await?),
    };
    let lone = lone::run(&plan, workspace.path()).await?;
    let mut figures = figure::all(&rounds, plan.kind());
    figures.extend(figure::of_lone(&lone));
    figures.extend(ledger.iter().flat_map(figure::against_empty));
    figures.extend(remembered.iter().map(figure::of_remembered));
    figures.extend(backlog.iter().flat_map(figure::against_short));
    let mut problems: Vec<String> = redis.iter().filter_map(Persistence::problem).collect();
    problems.extend(rounds.iter().flat_map(|round| round.problems.clone()));
    problems.extend(ledger.iter().flat_map(|ledger| ledger.problems.clone()));
    problems.extend(lone.problems.clone());
    Ok(Results {
        machine,
        plan,
        redis,
        figures,
        notes: database.note().into_iter().collect(),
        problems,
        rounds,
        ledger,
        remembered,
        backlog,
        lone,
    })
}

//! The cost of encryption: new events with and without keys, in turns, each on a fresh service and a fresh store. Every
//! second pair runs in reverse order, so that a machine that slows down or speeds up favours neither side.

use std::path::Path;

use serde::Serialize;

use crate::machine::Machine;
use crate::service::{Settings, Site};
use crate::workspace::{Afterwards, Workspace};
use hapax_terminal::output;
use hapax_terminal::progress::Progress;

use super::median::median;
use super::plan::Plan;
use super::round::unexpected;
use super::site::{self, Loads, STORED};

const CONNECTIONS: usize = 256;
/// The share of their rate that new events must keep.
const RATIO_MIN: f64 = 0.9;

#[derive(Debug, Serialize)]
pub struct Results {
    machine: Machine,
    seconds: u64,
    pairs: Vec<Pair>,
    /// The median of the pairs: new events per second with encryption divided by those without.
    ratio: f64,
    /// The minimum ratio.
    ratio_min: f64,
    /// Unexpected results.
    problems: Vec<String>,
}

/// New events per second on both sides, measured back to back.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Pair {
    plain: f64,
    encrypted: f64,
}

impl Pair {
    fn ratio(self) -> f64 {
        if self.plain > 0.0 {
            self.encrypted / self.plain
        } else {
            0.0
        }
    }
}

impl Results {
    /// Whether encryption meets its target. A run with a problem proves nothing.
    pub fn is_reached(&self) -> bool {
        self.ratio >= self.ratio_min && self.problems.is_empty()
    }
}

/// Measures one pair per round of the plan.
pub async fn run(plan: &Plan) -> anyhow::Result<Results> {
    let workspace = Workspace::create(&plan.folder, Afterwards::Remove)?;
    let machine = Machine::probe(workspace.path())?;
    let progress = Progress::new(plan.rounds as u64 * 2);
    let (mut pairs, mut problems) = (Vec::with_capacity(plan.rounds), Vec::new());
    for number in 0..plan.rounds {
        let mut pair = Pair::default();
        let is_encrypted_first = !number.is_multiple_of(2);
        for is_encrypted in [is_encrypted_first, !is_encrypted_first] {
            let side = if is_encrypted { "encrypted" } else { "plain" };
            progress.say(format!("pair {}: {side}", number + 1));
            let (per_second, problem) = measure(plan, is_encrypted, side, workspace.path()).await?;
            *(if is_encrypted {
                &mut pair.encrypted
            } else {
                &mut pair.plain
            }) = per_second;
            problems.extend(problem);
            progress.step();
        }
        pairs.push(pair);
    }
    progress.end();
    Ok(Results {
        machine,
        seconds: plan.seconds,
        ratio: median(pairs.iter().map(|pair| pair.ratio())),
        ratio_min: RATIO_MIN,
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
            "new events in plain {:.0}/s, encrypted {:.0}/s: {:.3}",
            pair.plain,
            pair.encrypted,
            pair.ratio()
        ))?;
    }
    let verdict = if results.is_reached() { "reached" } else { "MISSED" };
    output::line(format_args!(
        "median ratio {:.3}, at least {:.2}: {verdict}",
        results.ratio, results.ratio_min
    ))?;
    for problem in &results.problems {
        output::warning(problem);
    }
    Ok(())
}

async fn measure(
    plan: &Plan,
    is_encrypted: bool,
    side: &str,
    parent: &Path,
) -> anyhow::Result<(f64, Option<String>)> {
    let workspace = Workspace::create(parent, Afterwards::Remove)?;
    site::empty(plan).await?;
    let secret = format!("whsec_{:032x}", fastrand::u128(..));
    let own = format!("sqlite:{}", workspace.path().join("hapax.db").display());
    let settings = Settings {
        store_url: plan.store.clone().unwrap_or(own),
        encryption_key: is_encrypted.then(|| format!("{:032x}", fastrand::u128(..))),
        sources: vec![(STORED, vec![])],
        secret: secret.clone(),
        destinations: String::new(),
    };
    let place = Site::create(workspace.path(), &settings)?;
    let service = place.start().await?;
    let loads = Loads {
        secret: &secret,
        seconds: plan.seconds,
    };
    let report = loads.new_events(place.ingest(), CONNECTIONS).await?;
    service.end().await?;
    let problem = unexpected(side, &report, report.counts.accepted);
    Ok((report.per_second, problem))
}

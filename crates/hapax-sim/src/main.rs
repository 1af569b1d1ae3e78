//! `hapax-sim`: runs seeds of the simulator, and prints how to repeat one that failed.

use std::ops::Range;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

use clap::Parser;
use hapax_sim::{Found, Mutation, Until, search, simulate};

/// Failed seeds that are listed.
const NAMED_MAX: usize = 5;

/// The engine under a seeded scheduler, with faults, and a checker of what happened.
#[derive(Debug, Parser)]
struct Arguments {
    /// Repeats one run exactly and prints its history.
    #[arg(long, conflicts_with_all = ["seeds", "mutations"])]
    seed: Option<u64>,
    /// The range of seeds to run, end excluded.
    #[arg(long, default_value = "0..300")]
    seeds: Seeds,
    /// Breaks a rule on purpose.
    #[arg(long)]
    mutation: Option<Mutation>,
    /// Runs every mutation until it is caught; fails if one is not.
    #[arg(long, conflicts_with = "mutation")]
    mutations: bool,
}

#[derive(Clone, Debug)]
struct Seeds(Range<u64>);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bounds = text.split_once("..").and_then(|(first, end)| {
            let range = first.parse().ok()?..end.parse().ok()?;
            (!range.is_empty()).then_some(Self(range))
        });
        bounds.ok_or_else(|| format!("`{text}` is not a range of seeds: write one such as 0..300"))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let passed = if let Some(seed) = arguments.seed {
        one(seed, arguments.mutation)
    } else if arguments.mutations {
        // Run all of them, even after a miss.
        let missed = Mutation::ALL
            .into_iter()
            .filter(|mutation| !hunt(*mutation, &arguments.seeds.0));
        missed.count() == 0
    } else {
        many(arguments.seeds.0, arguments.mutation)
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs one seed and prints its history. Returns whether it kept every promise.
fn one(seed: u64, mutation: Option<Mutation>) -> bool {
    let run = simulate(seed, mutation);
    println!("{}", run.transcript());
    for violation in &run.violations {
        println!("BROKEN   {violation}");
    }
    println!("seed {seed}: {} promises broken", run.violations.len());
    run.violations.is_empty()
}

/// Runs seeds and prints a summary. Returns whether all of them kept every promise.
fn many(seeds: Range<u64>, mutation: Option<Mutation>) -> bool {
    let started = Instant::now();
    let found = search(seeds, mutation, Until::AllRun);
    print!("{}", found.tally);
    println!("{:<28}{:>10.1}", "seconds", started.elapsed().as_secs_f64());
    name_failed(&found, mutation);
    found.failed.is_empty() && found.panicked.is_empty()
}

/// Prints which seeds failed, why, and how to repeat them; the first one with its history.
fn name_failed(found: &Found, mutation: Option<Mutation>) {
    let broken = mutation.map_or_else(String::new, |mutation| format!(" --mutation {mutation}"));
    if let Some(first) = found.failed.first() {
        println!("\nthe history of seed {}:\n{}", first.seed, first.transcript());
    }
    for run in found.failed.iter().take(NAMED_MAX) {
        println!("\nseed {} broke a promise:", run.seed);
        for violation in run.violations.iter().take(NAMED_MAX) {
            println!("  {violation}");
        }
        println!(
            "  repeat it: cargo run -p hapax-sim -- --seed {}{broken}",
            run.seed
        );
    }
    for seed in &found.panicked {
        println!("\nseed {seed} panicked; repeat it: cargo run -p hapax-sim -- --seed {seed}{broken}");
    }
}

/// Looks for the first seed that catches a mutation. Returns whether one does.
fn hunt(mutation: Mutation, seeds: &Range<u64>) -> bool {
    let found = search(seeds.clone(), Some(mutation), Until::Caught);
    let rule = mutation.breaks();
    match found.failed.iter().find(|run| run.breaks(rule)) {
        Some(run) => println!("{mutation:<20} caught as {rule:?} by seed {}", run.seed),
        None => println!("{mutation:<20} MISSED by all of {} seeds", found.tally.runs),
    }
    found.failed.iter().any(|run| run.breaks(rule))
}

//! A search: many seeds, on every core. Each run has one thread; which thread it is makes no difference.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::mutation::Mutation;
use crate::run::{Run, simulate};
use crate::tally::Tally;

/// Failed runs kept with their history, unless they caught a mutation.
const FAILED_MAX: usize = 20;

/// The result of a search.
#[derive(Debug, Default)]
pub struct Found {
    pub tally: Tally,
    /// Runs that broke a promise, the lowest seeds first.
    pub failed: Vec<Run>,
    /// Seeds whose run panicked.
    pub panicked: Vec<u64>,
}

/// When a search may stop before its last seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Never.
    AllRun,
    /// Once the mutation's own rule was broken.
    Caught,
}

/// Runs every seed of a range.
pub fn search(seeds: Range<u64>, mutation: Option<Mutation>, until: Until) -> Found {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new(Found::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    if visit(seed, mutation, &found) == Until::Caught && until == Until::Caught {
                        next.store(seeds.end, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut found = found.into_inner();
    found.failed.sort_by_key(|run| run.seed);
    found.panicked.sort_unstable();
    found
}

/// Runs one seed. Returns whether it caught the mutation.
fn visit(seed: u64, mutation: Option<Mutation>, found: &Mutex<Found>) -> Until {
    let run = catch_unwind(AssertUnwindSafe(|| simulate(seed, mutation)));
    let mut found = found.lock();
    let Ok(run) = run else {
        found.panicked.push(seed);
        return Until::AllRun;
    };
    let caught = mutation.is_some_and(|mutation| run.breaks(mutation.breaks()));
    found.tally.add(&run);
    // A run that caught a mutation is always kept: it is what the search was for.
    if caught || (!run.violations.is_empty() && found.failed.len() < FAILED_MAX) {
        found.failed.push(run);
    }
    if caught { Until::Caught } else { Until::AllRun }
}

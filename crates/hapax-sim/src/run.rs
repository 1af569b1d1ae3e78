//! One run: a seed in, a history and its violations out.

use std::sync::Arc;
use std::time::Duration;

use crate::checker::{Violation, check};
use crate::course;
use crate::executor::{Executor, Stop};
use crate::history::Entry;
use crate::mutation::Mutation;
use crate::random::Dice;
use crate::rule::Rule;
use crate::world::World;

/// The most polls in one run; an ordinary one takes tens of thousands.
const STEPS_MAX: u64 = 3_000_000;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The seed that repeats it.
    pub seed: u64,
    pub history: Vec<Entry>,
    pub violations: Vec<Violation>,
    /// Virtual time that passed.
    pub lasted: Duration,
    /// How the executor stopped.
    pub stop: Stop,
}

/// Runs the engine through the world of a seed, optionally with a rule broken on purpose.
pub fn simulate(seed: u64, mutation: Option<Mutation>) -> Run {
    let dice = Dice::new(seed);
    let executor = Executor::new(dice.split());
    let world = World::new(executor.clone(), &dice, mutation);
    let stop = executor.run(course::live(Arc::clone(&world), dice), STEPS_MAX);
    let history = world.history.entries();
    // The engines hold the world, and the world holds the engines: drop both.
    (0..world.settings.replicas).for_each(|place| drop(world.door.take(place)));
    executor.clear();
    Run {
        seed,
        violations: check(&history, world.settings.destinations().len()),
        lasted: executor.now(),
        history,
        stop,
    }
}

impl Run {
    /// The history as text, one line per entry.
    pub fn transcript(&self) -> String {
        let lines: Vec<String> = self.history.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// Whether it broke this promise.
    pub fn breaks(&self, rule: Rule) -> bool {
        self.violations.iter().any(|violation| violation.rule == rule)
    }
}

//! A destination's oldest unfinished delivery waits too long, for whatever reason: a pause, its turn in a lane, the
//! next attempt. Any reason left out here would never be alerted on.

use super::super::facts::Facts;
use super::{Evaluation, of_answer};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let backlog = facts.counts.iter().flat_map(|counts| &counts.backlog);
    let ages = backlog
        .filter(|backlog| backlog.state.is_unfinished())
        .filter_map(|backlog| {
            let age = facts.now.since(backlog.oldest?).as_secs_f64();
            Some((facts.name_of(&backlog.destination), age))
        });
    Evaluation::above(limit, ages, of_answer(facts.counts.as_ref()))
}

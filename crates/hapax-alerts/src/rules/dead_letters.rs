//! Dead letters that no one has replayed or discarded.

use hapax_core::DeliveryState;

use super::super::facts::Facts;
use super::{Evaluation, of_answer};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let backlog = facts.counts.iter().flat_map(|counts| &counts.backlog);
    let dead = backlog
        .filter(|backlog| backlog.state == DeliveryState::Dead)
        .map(|backlog| (facts.name_of(&backlog.destination), backlog.count as f64));
    Evaluation::above(limit, dead, of_answer(facts.counts.as_ref()))
}

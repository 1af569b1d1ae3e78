//! Deliveries were given up, and no one has replayed or discarded them.

use hapax_core::DeliveryState;

use super::super::facts::Facts;
use super::{Judgement, of_answer};

pub(super) fn judge(facts: &Facts, limit: f64) -> Judgement {
    let backlog = facts.counts.iter().flat_map(|counts| &counts.backlog);
    let dead = backlog
        .filter(|backlog| backlog.state == DeliveryState::Dead)
        .map(|backlog| (facts.name_of(&backlog.destination), backlog.count as f64));
    Judgement::above(limit, dead, of_answer(facts.counts.as_ref()))
}

//! An outbox's oldest row waits too long, for whatever reason: the relay, the store, or a refused row of its key.

use super::super::facts::Facts;
use super::{Evaluation, of_outboxes};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let ages = facts.outboxes.iter().filter_map(|health| {
        let oldest = health.counts.as_ref()?.oldest_at?;
        Some((health.name.clone(), facts.now.since(oldest).as_secs_f64()))
    });
    Evaluation::above(limit, ages, of_outboxes(facts))
}

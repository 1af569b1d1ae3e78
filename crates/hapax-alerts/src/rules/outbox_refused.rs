//! Rows of an outbox were refused, and no one has corrected or deleted them.

use super::super::facts::Facts;
use super::{Evaluation, of_outboxes};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let refused = facts.outboxes.iter().filter_map(|health| {
        let counts = health.counts.as_ref()?;
        Some((health.name.clone(), counts.refused as f64))
    });
    Evaluation::above(limit, refused, of_outboxes(facts))
}

//! An outbox is not relayed: its database is down, or its table cannot be used.

use super::super::facts::Facts;
use super::{Evaluation, Rest};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let down = facts.outboxes.iter().filter_map(|health| {
        let (_, since) = health.trouble.as_ref()?;
        Some((health.name.clone(), since.as_secs_f64()))
    });
    // Each process knows only its own trouble, and none right after a restart.
    let rest = if facts.outboxes.iter().all(|health| health.trouble.is_none()) {
        Rest::Fine
    } else {
        Rest::Unknown
    };
    Evaluation::above(limit, down, rest)
}

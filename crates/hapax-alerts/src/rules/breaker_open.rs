//! A destination keeps failing, and its breaker stays open longer and longer.

use super::super::facts::Facts;
use super::{Evaluation, Rest};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let open = facts.breakers.iter();
    let times = open.map(|(id, open_for)| (facts.name_of(id), open_for.as_secs_f64()));
    // Each process has its own breakers: after a restart they are closed until the destination fails again.
    let rest = if facts.ten_minutes.watched_for.as_secs_f64() < limit {
        Rest::Unknown
    } else {
        Rest::Fine
    };
    Evaluation::above(limit, times, rest)
}

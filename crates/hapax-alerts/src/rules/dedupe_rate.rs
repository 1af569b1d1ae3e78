//! A source repeats itself: a sender that retries what was answered, or one that never hears the answer.

use super::super::facts::Facts;
use super::{Evaluation, of_ten_minutes};

/// Of fewer events, a share says nothing.
const EVENTS_MIN: u64 = 20;

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let sources = facts.ten_minutes.sources.iter();
    let enough = sources
        .filter(|(_, figures)| figures.accepted + figures.duplicates + figures.conflicts >= EVENTS_MIN);
    let rates = enough.map(|(name, figures)| (name.to_string(), figures.dedupe_ratio_p95));
    Evaluation::above(limit, rates, of_ten_minutes(facts))
}

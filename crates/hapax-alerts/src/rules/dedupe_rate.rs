//! A source sends many duplicates: the provider retries events that were already acknowledged, or never receives the
//! response.

use super::super::facts::Facts;
use super::{Evaluation, of_ten_minutes};

/// With fewer events, a ratio says nothing.
const EVENTS_MIN: u64 = 20;

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let sources = facts.ten_minutes.sources.iter();
    let enough = sources
        .filter(|(_, figures)| figures.accepted + figures.duplicates + figures.conflicts >= EVENTS_MIN);
    let rates = enough.map(|(name, figures)| (name.to_string(), figures.dedupe_ratio_p95));
    Evaluation::above(limit, rates, of_ten_minutes(facts))
}

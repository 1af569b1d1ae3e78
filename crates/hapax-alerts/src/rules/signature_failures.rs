//! Requests failed verification: a secret was rotated on one side only, or someone is probing.

use super::super::facts::Facts;
use super::{Evaluation, of_ten_minutes};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let sources = facts.ten_minutes.sources.iter();
    let counts = sources.map(|(name, figures)| (name.to_string(), figures.unproven as f64));
    Evaluation::above(limit, counts, of_ten_minutes(facts))
}

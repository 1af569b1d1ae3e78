//! Bodies came that differ from the first one under their id.

use super::super::facts::Facts;
use super::{Judgement, of_ten_minutes};

pub(super) fn judge(facts: &Facts, limit: f64) -> Judgement {
    let sources = facts.ten_minutes.sources.iter();
    let counts = sources.map(|(name, figures)| (name.to_string(), figures.conflicts as f64));
    Judgement::above(limit, counts, of_ten_minutes(facts))
}

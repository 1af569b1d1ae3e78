//! A duplicate arrived when the ledger had nearly forgotten the first one: a later duplicate would count as new.

use super::super::facts::Facts;
use super::{Evaluation, of_answer};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let gaps = facts.gaps.iter().flatten();
    let shares = gaps.filter_map(|(source, gap)| {
        let window = facts.windows.get(source)?.as_secs_f64();
        (window > 0.0).then(|| (source.to_string(), gap.as_secs_f64() / window))
    });
    Evaluation::above(limit, shares, of_answer(facts.gaps.as_ref()))
}

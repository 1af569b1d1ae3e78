//! A copy came when the ledger had nearly forgotten the first one: a later one would count as new.

use super::super::facts::Facts;
use super::{Judgement, of_answer};

pub(super) fn judge(facts: &Facts, limit: f64) -> Judgement {
    let gaps = facts.gaps.iter().flatten();
    let shares = gaps.filter_map(|(source, gap)| {
        let window = facts.windows.get(source)?.as_secs_f64();
        (window > 0.0).then(|| (source.to_string(), gap.as_secs_f64() / window))
    });
    Judgement::above(limit, shares, of_answer(facts.gaps.as_ref()))
}

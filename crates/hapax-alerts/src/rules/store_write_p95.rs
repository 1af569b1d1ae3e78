//! Durable writes take long, and every provider waits for them.

use super::super::facts::Facts;
use super::{Evaluation, of_ten_minutes};

/// There is one store.
const SUBJECT: &str = "store";

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let p95 = facts.ten_minutes.store_write.p95;
    let times = p95.map(|p95| (SUBJECT.to_owned(), p95.as_secs_f64()));
    Evaluation::above(limit, times, of_ten_minutes(facts))
}

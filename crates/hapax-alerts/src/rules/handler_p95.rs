//! Attempts at a destination take long, whether they succeed or not.

use super::super::facts::Facts;
use super::{Evaluation, of_ten_minutes};

pub(super) fn evaluate(facts: &Facts, limit: f64) -> Evaluation {
    let destinations = facts.ten_minutes.destinations.iter();
    let times =
        destinations.filter_map(|(id, figures)| Some((facts.name_of(id), figures.took.p95?.as_secs_f64())));
    Evaluation::above(limit, times, of_ten_minutes(facts))
}

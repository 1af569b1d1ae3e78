//! The inverse of [`super::parse`]: formats a store query as text that parses as the same query.

use hapax_core::store::{DuplicateCount, EventQuery, Has};

/// Formats a query in its shortest form, with the terms in the order of the reference page.
pub fn print(query: &EventQuery) -> String {
    let mut terms = Vec::new();
    let mut term = |key: &str, value: &str| terms.push(format!("{key}:{}", quoted(value)));
    if let Some(source) = &query.source {
        term("source", source.as_str());
    }
    if let Some(event_type) = &query.event_type {
        term("type", event_type);
    }
    if let Some(status) = query.status {
        term("status", status.as_str());
    }
    if let Some(event_id) = &query.event_id {
        term("id", event_id);
    }
    if let Some(destination) = &query.to {
        term("to", destination.as_str());
    }
    if let Some(error) = query.error {
        term("error", error.as_str());
    }
    if let Some(range) = query.duplicates {
        term("duplicates", &duplicate_count(range));
    }
    match query.has {
        Some(Has::Conflict) => term("has", "conflict"),
        None => {}
    }
    for wanted in &query.body {
        term("body", &format!("{}={}", wanted.pointer, wanted.value));
    }
    if let Some(since) = query.since {
        term("since", &since.to_string());
    }
    if let Some(until) = query.until {
        term("until", &until.to_string());
    }
    terms.join(" ")
}

fn duplicate_count(DuplicateCount { min, max }: DuplicateCount) -> String {
    match max {
        None => format!(">={min}"),
        Some(max) if max == min => min.to_string(),
        // No query has both bounds, so only the upper one was given.
        Some(max) => format!("<={max}"),
    }
}

/// The value, quoted if necessary.
fn quoted(value: &str) -> String {
    if value
        .chars()
        .all(|letter| !letter.is_whitespace() && letter != '"')
    {
        return value.to_owned();
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

//! Links between pages, percent-encoded.

use hapax_core::EventId;
use hapax_core::store::EventQuery;

use super::done::Done;
use crate::client::{Parameters, segment};
use crate::query;

/// The list of events that fit a query.
pub(in crate::http) fn events(query: &EventQuery) -> String {
    search(&query::print(query))
}

/// The list of events that fit a text in the query language.
pub(in crate::http) fn search(text: &str) -> String {
    Parameters::default().with("q", Some(text)).on("/events")
}

/// One event.
pub(in crate::http) fn event(id: EventId) -> String {
    format!("/events/{id}")
}

/// A path under a name.
pub(in crate::http) fn under(place: &str, name: &str, verb: &str) -> String {
    format!("/{place}/{}/{verb}", segment(name))
}

/// A page that says first what was done.
pub(in crate::http) fn done(path: &str, done: Done) -> String {
    Parameters::default().with("done", Some(done.code())).on(path)
}

/// The next page of a list.
pub(in crate::http) fn next(path: &str, cursor: &str) -> String {
    Parameters::default().with("cursor", Some(cursor)).on(path)
}

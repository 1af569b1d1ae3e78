//! Links between pages, percent-encoded.

use hapax_core::EventId;
use hapax_core::store::EventQuery;

use super::done::Done;
use hapax_api::path::{Parameters, segment};
use hapax_api::query;

/// The events that match a query.
pub(crate) fn events(query: &EventQuery) -> String {
    search(&query::print(query))
}

/// The events that match a query string.
pub(crate) fn search(text: &str) -> String {
    Parameters::default().with("q", Some(text)).on("/events")
}

pub(crate) fn event(id: EventId) -> String {
    format!("/events/{id}")
}

/// The path of an action on a named item.
pub(crate) fn under(place: &str, name: &str, verb: &str) -> String {
    format!("/{place}/{}/{verb}", segment(name))
}

/// A page that first shows the result of a form.
pub(crate) fn done(path: &str, done: Done) -> String {
    Parameters::default().with("done", Some(done.code())).on(path)
}

/// The next page of a list.
pub(crate) fn next(path: &str, cursor: &str) -> String {
    Parameters::default().with("cursor", Some(cursor)).on(path)
}

//! The events that a request selects: a string in the query language, single parameters, or both.
//!
//! Everything given must match. The same key in both is refused, as in the language itself: it is unclear which one
//! is meant.

use hapax_core::json_pointer::{POINTER_BYTES_MAX, is_pointer};
use hapax_core::store::{Cursor, EventQuery};
use hapax_core::{ErrorClass, EventStatus, SourceName, Timestamp};
use hapax_engine::{BODIES_MAX, SearchCursor};
use serde::Deserialize;
use utoipa::IntoParams;

use super::api_error::{ApiError, ApiResult};
use super::extract::{cursor, cursor_text, limit};
use super::state::{AdminState, Settings};
use hapax_api::query::{self, BODY_TERMS_MAX};

/// The parameters of a list of events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventListParameters {
    /// The events to list, in the query language. The parameters below must match, too.
    #[param(schema_with = hapax_api::schemas::query_text)]
    q: Option<String>,
    /// Only events of this source.
    #[param(value_type = Option<String>)]
    source: Option<SourceName>,
    /// Only events with this status.
    #[param(schema_with = hapax_api::schemas::event_status)]
    status: Option<EventStatus>,
    /// Only events of this type; a trailing `*` matches any ending.
    #[serde(rename = "type")]
    event_type: Option<String>,
    /// Only events with this id: the provider's or the Hapax id.
    event_id: Option<String>,
    /// Only events with a delivery to this destination, by name or id.
    to: Option<String>,
    /// Only events with a delivery that is dead with this error.
    #[param(schema_with = hapax_api::schemas::error_class)]
    error: Option<ErrorClass>,
    /// Only events received at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Only events received before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// The `next` of the previous page.
    #[param(pattern = "^[0-9a-f]{16}(\\.[0-9]{1,5})?$")]
    cursor: Option<String>,
    /// The maximum number of events [default: 50].
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

impl EventListParameters {
    /// The query, the cursor and the limit.
    pub(super) fn into_query(self, state: &AdminState) -> ApiResult<(EventQuery, Option<SearchCursor>, u32)> {
        let after = search_cursor(self.cursor.as_deref())?;
        let limit = limit(self.limit)?;
        let mut query = read(state, self.q.as_deref().unwrap_or_default())?;
        let to = self.to.map(|name| state.settings.load().destination_or_id(&name));
        both(&mut query.source, self.source, "source")?;
        both(&mut query.status, self.status, "status")?;
        both(&mut query.event_type, self.event_type, "type")?;
        both(&mut query.event_id, self.event_id, "event_id")?;
        both(&mut query.to, to, "to")?;
        both(&mut query.error, self.error, "error")?;
        both(&mut query.since, self.since, "since")?;
        both(&mut query.until, self.until, "until")?;
        Ok((query, after, limit))
    }
}

/// Parses a query; destinations may be given by name.
pub fn read(state: &AdminState, text: &str) -> ApiResult<EventQuery> {
    let query =
        query::parse(text, state.now()).map_err(|error| ApiError::invalid_parameter(error.to_string()))?;
    Ok(named(&state.settings.load(), query))
}

/// Validates a query given as an object, like the parser does.
pub(super) fn check(settings: &Settings, query: EventQuery) -> ApiResult<EventQuery> {
    if query.body.len() > BODY_TERMS_MAX {
        let detail = format!("`body` has more than {BODY_TERMS_MAX} terms");
        return Err(ApiError::invalid_parameter(detail));
    }
    if let Some(term) = query.body.iter().find(|term| !is_pointer(&term.pointer)) {
        return Err(ApiError::invalid_parameter(format!(
            "`{}` is not a JSON pointer of at most {POINTER_BYTES_MAX} bytes: it begins with `/`, such as \
             /data/object/id",
            term.pointer
        )));
    }
    Ok(named(settings, query))
}

/// Parses the cursor of a search.
pub fn search_cursor(text: Option<&str>) -> ApiResult<Option<SearchCursor>> {
    let Some(text) = text else { return Ok(None) };
    let (position, bodies_read) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = bodies_read.bytes().all(|byte| byte.is_ascii_digit());
    let bodies_read = bodies_read.parse().ok().filter(|_| is_number);
    match (cursor(Some(position)), bodies_read) {
        (Ok(Some(position)), Some(bodies_read)) => Ok(Some(SearchCursor {
            position,
            // A larger number is not from our cursors; the sum must not overflow.
            bodies_read: u64::min(bodies_read, BODIES_MAX),
        })),
        (Ok(_) | Err(_), _) => Err(super::extract::not_a_cursor(text)),
    }
}

/// A search's cursor as clients see it.
pub(super) fn search_cursor_text(cursor: SearchCursor) -> String {
    let SearchCursor {
        position: Cursor(position),
        bodies_read,
    } = cursor;
    match bodies_read {
        0 => cursor_text(Cursor(position)),
        read => format!("{}.{read}", cursor_text(Cursor(position))),
    }
}

fn named(settings: &Settings, mut query: EventQuery) -> EventQuery {
    query.to = query.to.map(|name| settings.destination_or_id(name.as_str()));
    query
}

/// Adds a parameter to a query, unless the query has the same key already.
pub(super) fn both<T>(of_query: &mut Option<T>, given: Option<T>, key: &str) -> ApiResult<()> {
    if of_query.is_some() && given.is_some() {
        return Err(ApiError::invalid_parameter(format!(
            "`{key}` is given in `q` and as a parameter; remove one"
        )));
    }
    if given.is_some() {
        *of_query = given;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_cursor_reads_back_as_itself_and_anything_else_is_refused() {
        for (position, bodies_read) in [(0, 0), (7, 1), (u64::MAX, BODIES_MAX)] {
            let cursor = SearchCursor {
                position: Cursor(position),
                bodies_read,
            };
            assert_eq!(search_cursor(Some(&search_cursor_text(cursor))), Ok(Some(cursor)));
        }
        for text in [
            "",
            "1",
            "000000000000000g",
            "0000000000000001.",
            "0000000000000001.+1",
            "0000000000000001.x",
        ] {
            assert!(search_cursor(Some(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn the_same_key_in_the_query_and_beside_it_is_refused() {
        let mut source = Some(1);
        assert!(both(&mut source, Some(2), "source").is_err());
        assert!(both(&mut source, None, "source").is_ok());
        assert_eq!(source, Some(1));
        let mut free = None;
        assert!(both(&mut free, Some(2), "source").is_ok());
        assert_eq!(free, Some(2));
    }
}

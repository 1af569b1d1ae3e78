//! Which events a request means: a text in the query language, single parameters, or both.
//!
//! Everything given must match. The same key in both is refused, as it is inside the language: which of the two was
//! meant cannot be known.

use hapax_core::store::{Cursor, EventQuery, POINTER_BYTES_MAX, is_pointer};
use hapax_core::{Clock as _, ErrorClass, EventStatus, SourceName, SystemClock, Timestamp};
use hapax_engine::{BODIES_MAX, SearchCursor};
use serde::Deserialize;
use utoipa::IntoParams;

use super::api_error::{ApiError, ApiResult};
use super::extract::{cursor, cursor_text, limit};
use super::state::Settings;
use hapax_api::query::{self, BODY_TERMS_MAX};

/// The parameters of a list of events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventListParameters {
    /// Which events, in the query language. Beside it the parameters below must match, too.
    #[param(schema_with = hapax_api::schemas::query_text)]
    q: Option<String>,
    /// Of this source.
    #[param(value_type = Option<String>)]
    source: Option<SourceName>,
    /// With this status.
    #[param(schema_with = hapax_api::schemas::event_status)]
    status: Option<EventStatus>,
    /// Of this type; a trailing `*` matches any rest.
    #[serde(rename = "type")]
    event_type: Option<String>,
    /// With this id of the sender, or with this id of ours.
    event_id: Option<String>,
    /// With a delivery to this destination, by its name or its id.
    to: Option<String>,
    /// With a delivery that was given up for this.
    #[param(schema_with = hapax_api::schemas::error_class)]
    error: Option<ErrorClass>,
    /// Received at or after this moment.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Received before this moment.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Timestamp>,
    /// Where to go on: the `next` of the page before.
    #[param(pattern = "^[0-9a-f]{16}(\\.[0-9]{1,5})?$")]
    cursor: Option<String>,
    /// How many at most; 50 unless said.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

impl EventListParameters {
    /// What they ask for.
    pub(super) fn into_query(
        self,
        settings: &Settings,
    ) -> ApiResult<(EventQuery, Option<SearchCursor>, u32)> {
        let after = search_cursor(self.cursor.as_deref())?;
        let limit = limit(self.limit)?;
        let mut query = read(settings, self.q.as_deref().unwrap_or_default())?;
        let to = self.to.map(|name| settings.destination_or_id(&name));
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

/// Reads a text in the query language; a destination may be called by its name.
pub fn read(settings: &Settings, text: &str) -> ApiResult<EventQuery> {
    let now = SystemClock::default().now();
    let query = query::parse(text, now).map_err(|error| ApiError::invalid_parameter(error.to_string()))?;
    Ok(named(settings, query))
}

/// Checks a query that came as an object, as the language would have.
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

/// Where a search goes on.
pub fn search_cursor(text: Option<&str>) -> ApiResult<Option<SearchCursor>> {
    let Some(text) = text else { return Ok(None) };
    let (position, bodies_read) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = bodies_read.bytes().all(|byte| byte.is_ascii_digit());
    let bodies_read = bodies_read.parse().ok().filter(|_| is_number);
    match (cursor(Some(position)), bodies_read) {
        (Ok(Some(position)), Some(bodies_read)) => Ok(Some(SearchCursor {
            position,
            // More than that is no search of ours; the sum must not overflow.
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

/// Takes a parameter beside what the query says already.
pub(super) fn both<T>(of_query: &mut Option<T>, given: Option<T>, key: &str) -> ApiResult<()> {
    if of_query.is_some() && given.is_some() {
        return Err(ApiError::invalid_parameter(format!(
            "`{key}` is given in `q` and as a parameter of its own, and both must match; leave one"
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

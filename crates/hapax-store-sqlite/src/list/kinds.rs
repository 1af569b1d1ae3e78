//! Kinds of events: a source and a type. Each is a separate range of one index, so that a rare kind is found at once.

use hapax_core::store::EventQuery;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

use super::trails::{TRAILS_MAX, Trail};
use crate::failure::Failure;
use crate::reader::ReadDesk;

const OF_KIND: &str = "
    SELECT seq FROM events INDEXED BY events_kind
    WHERE source = ?4 AND ifnull(type, '') = ?5 AND seq >= ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3";

/// The trails of the kinds that a query asks for; `None` if it asks for all kinds or for too many.
pub(super) fn trails(desk: &mut ReadDesk, query: &EventQuery) -> Result<Option<Vec<Trail>>, Failure> {
    if query.source.is_none() && query.event_type.is_none() {
        return Ok(None);
    }
    let sources = match &query.source {
        Some(source) => {
            let number = desk.names.find(&desk.connection, source.as_str())?;
            number.into_iter().collect()
        }
        None => sources(&desk.connection)?,
    };
    let mut trails = Vec::new();
    for source in sources {
        for event_type in types(&desk.connection, source, query.event_type.as_deref())? {
            if trails.len() == TRAILS_MAX {
                return Ok(None);
            }
            let kind = vec![Value::Integer(source), Value::Text(event_type)];
            trails.push(Trail::new(OF_KIND, kind));
        }
    }
    Ok(Some(trails))
}

/// The sources that have events, each found by one step through the index.
fn sources(connection: &Connection) -> Result<Vec<i64>, Failure> {
    let mut select = connection.prepare_cached(
        "SELECT source FROM events INDEXED BY events_kind WHERE source > ?1 ORDER BY source LIMIT 1",
    )?;
    let mut found: Vec<i64> = Vec::new();
    while found.len() <= TRAILS_MAX {
        let after = found.last().copied().unwrap_or(i64::MIN);
        let next = select.query_row([after], |row| row.get(0)).optional()?;
        let Some(source) = next else {
            break;
        };
        found.push(source);
    }
    Ok(found)
}

/// The event types of a source that match a pattern. Returns one more than can be walked if there are too many.
fn types(connection: &Connection, source: i64, pattern: Option<&str>) -> Result<Vec<String>, Failure> {
    let prefix = match pattern {
        Some(pattern) => match pattern.strip_suffix('*') {
            Some(prefix) => prefix,
            None => return Ok(vec![pattern.to_owned()]),
        },
        None => "",
    };
    let mut first = connection.prepare_cached(
        "SELECT ifnull(type, '') FROM events INDEXED BY events_kind
         WHERE source = ?1 AND ifnull(type, '') >= ?2 ORDER BY ifnull(type, '') LIMIT 1",
    )?;
    let mut after = connection.prepare_cached(
        "SELECT ifnull(type, '') FROM events INDEXED BY events_kind
         WHERE source = ?1 AND ifnull(type, '') > ?2 ORDER BY ifnull(type, '') LIMIT 1",
    )?;
    let mut found: Vec<String> = Vec::new();
    while found.len() <= TRAILS_MAX {
        let next: Option<String> = match found.last() {
            Some(last) => after.query_row((source, last), |row| row.get(0)).optional()?,
            None => first.query_row((source, prefix), |row| row.get(0)).optional()?,
        };
        match next {
            Some(event_type) if event_type.starts_with(prefix) => found.push(event_type),
            Some(_) | None => break,
        }
    }
    Ok(found)
}

//! Parses terms into a store query.

use hapax_core::json_pointer::{POINTER_BYTES_MAX, is_pointer};
use hapax_core::store::{BodyTerm, DuplicateCount, EventQuery, Has};
use hapax_core::{ErrorClass, Timestamp};

use super::error::QueryError;
use super::token::{Token, tokens};
use super::{BODY_TERMS_MAX, QUERY_BYTES_MAX, keys};
use crate::renamed::{Kind, hint};
use crate::when::When;

/// Parses a query. Relative times count back from `now`. An empty string matches every event.
pub fn parse(text: &str, now: Timestamp) -> Result<EventQuery, QueryError> {
    if text.len() > QUERY_BYTES_MAX {
        let message = format!("it has {} bytes; the limit is {QUERY_BYTES_MAX}", text.len());
        return Err(QueryError::new(QUERY_BYTES_MAX, message));
    }
    let mut query = EventQuery::default();
    for token in tokens(text)? {
        term(&mut query, &token, now)?;
    }
    Ok(query)
}

fn term(query: &mut EventQuery, token: &Token, now: Timestamp) -> Result<(), QueryError> {
    let value = token.value.as_str();
    let key = token.key.as_deref().unwrap_or("id");
    if value.is_empty() {
        return Err(QueryError::new(token.at, format!("`{key}:` has no value")));
    }
    let added = match key {
        "source" => once(&mut query.source, key, || Ok(value.into())),
        "type" => once(&mut query.event_type, key, || Ok(value.to_owned())),
        "status" => once(&mut query.status, key, || {
            value.parse().map_err(|error| format!("{error}"))
        }),
        "id" => once(&mut query.event_id, key, || Ok(value.to_owned())),
        "to" => once(&mut query.to, key, || Ok(value.into())),
        "error" => once(&mut query.error, key, || {
            ErrorClass::from_name(value).ok_or_else(|| no_error(value))
        }),
        "duplicates" => once(&mut query.duplicates, key, || {
            duplicate_count(value).ok_or_else(|| no_number(value))
        }),
        "has" => once(&mut query.has, key, || match value {
            "conflict" => Ok(Has::Conflict),
            _ => Err(format!("`has:{value}` is unknown; write has:conflict")),
        }),
        "body" if query.body.len() == BODY_TERMS_MAX => {
            Err(format!("more than {BODY_TERMS_MAX} `body:` terms"))
        }
        "body" => body(value).map(|term| query.body.push(term)),
        "since" => once(&mut query.since, key, || moment(value, now)),
        "until" => once(&mut query.until, key, || moment(value, now)),
        other => Err(format!(
            "`{other}:` is not a search key{}; use one of {}. An id that contains a colon is written \
             id:{other}:{value}",
            hint(Kind::SearchKey, other),
            keys::names()
        )),
    };
    added.map_err(|message| QueryError::new(token.at, message))
}

/// Reads a value into its slot, unless an earlier term has filled that.
fn once<T>(slot: &mut Option<T>, key: &str, read: impl FnOnce() -> Result<T, String>) -> Result<(), String> {
    if slot.is_some() {
        return Err(format!("`{key}:` occurs twice; remove one"));
    }
    *slot = Some(read()?);
    Ok(())
}

fn moment(value: &str, now: Timestamp) -> Result<Timestamp, String> {
    let when: When = value.parse().map_err(|error| format!("{error}"))?;
    Ok(when.resolve(now))
}

fn body(value: &str) -> Result<BodyTerm, String> {
    let Some((pointer, value)) = value.split_once('=') else {
        return Err(format!(
            "`body:{value}` has no `=`; write the pointer, `=` and the value: body:/data/object/id=ord_1"
        ));
    };
    if !is_pointer(pointer) {
        return Err(format!(
            "`{pointer}` is not a JSON pointer of at most {POINTER_BYTES_MAX} bytes: it begins with `/`, such as \
             /data/object/id; in a name, `~` is written ~0 and `/` is written ~1"
        ));
    }
    Ok(BodyTerm {
        pointer: pointer.to_owned(),
        value: value.to_owned(),
    })
}

fn duplicate_count(value: &str) -> Option<DuplicateCount> {
    let digits = value.trim_start_matches(['<', '>', '=']);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    let (min, max) = match &value[..value.len() - digits.len()] {
        "" | "=" => (number, Some(number)),
        ">" => (number.checked_add(1)?, None),
        ">=" => (number, None),
        "<" => (0, Some(number.checked_sub(1)?)),
        "<=" => (0, Some(number)),
        _ => return None,
    };
    Some(DuplicateCount { min, max })
}

fn no_number(value: &str) -> String {
    format!(
        "`duplicates:{value}` is not a number of duplicates; write duplicates:2, duplicates:>0, duplicates:>=3, duplicates:<5 or duplicates:<=4"
    )
}

fn no_error(value: &str) -> String {
    let names: Vec<&str> = ErrorClass::ALL.iter().map(|class| class.as_str()).collect();
    format!("`{value}` is not an error; use one of {}", names.join(", "))
}

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
    let fail = |message: String| QueryError::new(token.at, message);
    let key = token.key.as_deref().unwrap_or("id");
    if value.is_empty() {
        return Err(fail(format!("`{key}:` has no value")));
    }
    let once = |is_taken: bool| {
        if is_taken {
            return Err(fail(format!("`{key}:` occurs twice; remove one")));
        }
        Ok(())
    };
    match key {
        "source" => {
            once(query.source.is_some())?;
            query.source = Some(value.into());
        }
        "type" => {
            once(query.event_type.is_some())?;
            query.event_type = Some(value.to_owned());
        }
        "status" => {
            once(query.status.is_some())?;
            query.status = Some(value.parse().map_err(|error| fail(format!("{error}")))?);
        }
        "id" => {
            once(query.event_id.is_some())?;
            query.event_id = Some(value.to_owned());
        }
        "to" => {
            once(query.to.is_some())?;
            query.to = Some(value.into());
        }
        "error" => {
            once(query.error.is_some())?;
            query.error = Some(ErrorClass::from_name(value).ok_or_else(|| fail(no_error(value)))?);
        }
        "duplicates" => {
            once(query.duplicates.is_some())?;
            query.duplicates = Some(copies(value).ok_or_else(|| fail(no_number(value)))?);
        }
        "has" => {
            once(query.has.is_some())?;
            query.has = match value {
                "conflict" => Some(Has::Conflict),
                _ => return Err(fail(format!("`has:{value}` is unknown; write has:conflict"))),
            };
        }
        "body" => {
            if query.body.len() == BODY_TERMS_MAX {
                return Err(fail(format!("more than {BODY_TERMS_MAX} `body:` terms")));
            }
            query.body.push(body(value).map_err(fail)?);
        }
        "since" => {
            once(query.since.is_some())?;
            query.since = Some(moment(value, now).map_err(fail)?);
        }
        "until" => {
            once(query.until.is_some())?;
            query.until = Some(moment(value, now).map_err(fail)?);
        }
        other => {
            return Err(fail(format!(
                "`{other}:` is not a search key{}; use one of {}. An id that contains a colon is written \
                 id:{other}:{value}",
                hint(Kind::SearchKey, other),
                keys::names()
            )));
        }
    }
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

fn copies(value: &str) -> Option<DuplicateCount> {
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

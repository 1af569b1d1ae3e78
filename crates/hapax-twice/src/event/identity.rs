//! Where the id of an event is in a request, so that a fresh one can be written there.

use hapax_verify::catalogue::Provider;
use hapax_verify::identity::{NestedEvents, Pattern, ValuePath};
use hapax_verify::{Field, Split, sample};
use serde_json::{Map, Value};

use super::fresh;

/// Where the fresh id goes: the location of the id in the provider's own sample, or else the first location.
pub(super) fn place(provider: &Provider) -> Option<&ValuePath> {
    let mark = fresh::letters();
    let sample = sample::of_provider(provider, &mark);
    let mut body: Value = serde_json::from_slice(&sample.body).unwrap_or_default();
    let events = events(provider, &mut body);
    let event = events.first();
    let has_mark = |place: &&ValuePath| match place {
        ValuePath::Header(name) => {
            let mut headers = sample.headers.iter();
            headers.any(|(known, value)| known == name && value.contains(&mark))
        }
        ValuePath::Body(pointer) | ValuePath::Flag(pointer) => {
            let value = event.and_then(|event| event.pointer(&pointer.to_string()));
            value
                .and_then(Value::as_str)
                .is_some_and(|text| text.contains(&mark))
        }
        _ => false,
    };
    let places = || provider.identity.event_id.fields().flat_map(Field::paths);
    places().find(has_mark).or_else(|| places().next())
}

/// The events of a request: the elements of its batch, or the whole request.
pub(super) fn events<'a>(provider: &Provider, body: &'a mut Value) -> Vec<&'a mut Value> {
    let at = match &provider.identity.split {
        Some(Split::Array { at, .. }) => at.to_string(),
        Some(Split::Nested(_)) | None => return vec![body],
    };
    if !body.pointer(&at).is_some_and(Value::is_array) {
        return vec![body];
    }
    let items = body.pointer_mut(&at).and_then(Value::as_array_mut);
    items.into_iter().flatten().collect()
}

/// Where the id of the first event in nested arrays is. An event without an id is identified by its content: there, an
/// additional key makes it different.
pub(super) fn nested_place(provider: &Provider, body: &Value) -> Option<Vec<String>> {
    let Some(Split::Nested(kinds)) = &provider.identity.split else {
        return None;
    };
    let is_there = |kind: &&NestedEvents| body.pointer(&kind.at.first().to_string()).is_some();
    let kind = kinds.iter().find(is_there)?;
    let mut ids = kind.event_id.iter().flatten().map(Pattern::first);
    let known = ids.find(|id| text_at(body, id.tokens()).is_some());
    Some(known.map_or_else(
        || [kind.at.first().tokens(), &["id".to_owned()]].concat(),
        |id| id.tokens().to_vec(),
    ))
}

/// The text of a string or number.
pub(super) fn text_at(body: &Value, tokens: &[String]) -> Option<String> {
    let found = tokens.iter().try_fold(body, |value, token| match value {
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        other => other.get(token),
    });
    match found? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes the id. A number stays a number, so that a handler that expects one can read it.
pub(super) fn put(body: &mut Value, tokens: &[String], id: &str) {
    let mut place = body;
    for token in tokens {
        let index = place.as_array().and_then(|items| {
            let index = token.parse::<usize>().ok();
            index.filter(|at| *at < items.len())
        });
        if index.is_none() && !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = match index {
            Some(at) => &mut place[at],
            None => &mut place[token.as_str()],
        };
    }
    *place = match (&*place, id.parse::<u64>()) {
        (Value::Number(_), Ok(number)) => number.into(),
        _ => id.into(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stays_a_number_and_a_place_that_is_missing_is_made() {
        let mut body = serde_json::json!({"items": [{"id": 4}], "text": 1});
        put(
            &mut body,
            &["items".to_owned(), "0".to_owned(), "id".to_owned()],
            "17",
        );
        put(&mut body, &["data".to_owned(), "id".to_owned()], "17");
        assert_eq!(
            body,
            serde_json::json!({"items": [{"id": 17}], "text": 1, "data": {"id": "17"}})
        );
    }
}

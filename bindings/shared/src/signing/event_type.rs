//! Gives a sample another event type, in the places where the provider has it.

use hapax_verify::identity::{Field, ValuePath};
use hapax_verify::sign::Delivery;
use serde_json::{Map, Value};

/// Sets the type in the headers of `delivery` and in the event, and returns the event; `None` if this provider's type is
/// in a place that cannot be set.
pub(super) fn set(delivery: &mut Delivery, event: &[u8], fields: &[Field], wanted: &str) -> Option<Vec<u8>> {
    let mut body = Body::Raw(event);
    // The parts of a composite are joined with dots; the last one takes the rest.
    let mut parts = wanted.splitn(fields.len(), '.');
    for field in fields {
        let part = parts.next();
        let path = present(field, delivery, &mut body).or_else(|| field.paths().first())?;
        match (path, part) {
            (ValuePath::Header(name), Some(part)) => set_header(delivery, name, part),
            (ValuePath::Body(pointer), Some(part)) => put(body.json()?, pointer.tokens(), part)?,
            (ValuePath::Body(pointer), None) => remove(body.json()?, pointer.tokens()),
            (ValuePath::Header(name), None) => delivery.headers.retain(|(known, _)| known != name),
            (_, _) => return None,
        }
    }
    Some(body.bytes())
}

/// Sets a header, replacing its previous value.
pub(super) fn set_header(delivery: &mut Delivery, name: &str, value: &str) {
    delivery.headers.retain(|(known, _)| known != name);
    delivery.headers.push((name.to_owned(), value.to_owned()));
}

/// The event, parsed once one of its values has to change.
enum Body<'e> {
    Raw(&'e [u8]),
    Json(Value),
}

impl Body<'_> {
    fn json(&mut self) -> Option<&mut Value> {
        if let Self::Raw(bytes) = self {
            *self = Self::Json(serde_json::from_slice(bytes).ok()?);
        }
        match self {
            Self::Json(value) => Some(value),
            Self::Raw(_) => None,
        }
    }

    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Raw(bytes) => bytes.to_vec(),
            Self::Json(value) => value.to_string().into_bytes(),
        }
    }
}

/// The location of the type in this delivery.
fn present<'f>(field: &'f Field, delivery: &Delivery, body: &mut Body<'_>) -> Option<&'f ValuePath> {
    field.paths().iter().find(|path| match path {
        ValuePath::Header(name) => delivery.headers.iter().any(|(known, _)| known == name),
        ValuePath::Body(pointer) => body
            .json()
            .is_some_and(|value| get(value, pointer.tokens()).is_some()),
        _ => false,
    })
}

fn get<'v>(value: &'v Value, tokens: &[String]) -> Option<&'v Value> {
    tokens.iter().try_fold(value, |value, token| value.get(token))
}

fn put(value: &mut Value, tokens: &[String], text: &str) -> Option<()> {
    let (last, parents) = tokens.split_last()?;
    let mut place = value;
    for token in parents {
        place = place
            .as_object_mut()?
            .entry(token.clone())
            .or_insert_with(|| Value::Object(Map::new()));
    }
    place.as_object_mut()?.insert(last.clone(), Value::from(text));
    Some(())
}

fn remove(value: &mut Value, tokens: &[String]) {
    let Some((last, parents)) = tokens.split_last() else {
        return;
    };
    let parent = parents
        .iter()
        .try_fold(value, |value, token| value.get_mut(token.as_str()));
    if let Some(object) = parent.and_then(Value::as_object_mut) {
        object.remove(last);
    }
}

//! A parameter of a `sql` destination: where in the event its value is, and of which type it must be.

use hapax_core::Leased;
use hapax_verify::Field;
use hapax_verify::identity::{Pointer, ValuePath};
use serde_json::value::RawValue;

use crate::destination::pointer;

/// Where a value comes from, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    from: From,
    kind: Option<ParamType>,
    presence: Presence,
}

/// Whether the value may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    /// Then it is NULL.
    Optional,
}

/// What a value must be. Without one it is what the event says, and the database decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// Text; a number or a document is taken as it is written.
    Text,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A JSON document.
    Json,
    /// The body, byte for byte; only for `body`.
    Bytes,
}

/// A value for a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// Text.
    Text(String),
    /// A number, as it is written: no digit is lost.
    Number(String),
    /// True or false.
    Boolean(bool),
    /// A JSON document, as it is written.
    Json(String),
    /// The body.
    Bytes(bytes::Bytes),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum From {
    Field(Field),
    Body,
    EventId,
    EventType,
    Source,
    Id,
    ReceivedAt,
    IdempotencyKey,
    Generation,
}

const WORDS: [(&str, From); 8] = [
    ("body", From::Body),
    ("event_id", From::EventId),
    ("event_type", From::EventType),
    ("source", From::Source),
    ("id", From::Id),
    ("received_at", From::ReceivedAt),
    ("idempotency_key", From::IdempotencyKey),
    ("generation", From::Generation),
];

impl ParamType {
    pub(super) const NAMES: &'static [&'static str] =
        &["text", "integer", "number", "boolean", "json", "bytes"];

    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "integer" => Some(Self::Integer),
            "number" => Some(Self::Number),
            "boolean" => Some(Self::Boolean),
            "json" => Some(Self::Json),
            "bytes" => Some(Self::Bytes),
            _ => None,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Json => "json",
            Self::Bytes => "bytes",
        }
    }

    /// The value as this type, if it can be that without guessing.
    fn of(self, value: Value) -> Result<Value, Value> {
        let is_integer = |text: &str| text.parse::<i128>().is_ok();
        match (self, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Self::Text, Value::Number(text) | Value::Json(text)) => Ok(Value::Text(text)),
            (Self::Text, Value::Boolean(value)) => Ok(Value::Text(value.to_string())),
            (Self::Integer, Value::Number(text) | Value::Text(text)) if is_integer(&text) => {
                Ok(Value::Number(text))
            }
            (Self::Number, Value::Text(text))
                if serde_json::from_str::<serde_json::Number>(&text).is_ok() =>
            {
                Ok(Value::Number(text))
            }
            (Self::Boolean, Value::Text(text)) if text == "true" || text == "false" => {
                Ok(Value::Boolean(text == "true"))
            }
            (Self::Json, Value::Number(text)) => Ok(Value::Json(text)),
            (Self::Json, Value::Boolean(value)) => Ok(Value::Json(value.to_string())),
            (Self::Json, Value::Text(text)) => Ok(Value::Json(serde_json::Value::String(text).to_string())),
            (Self::Text, value @ Value::Text(_))
            | (Self::Number, value @ Value::Number(_))
            | (Self::Boolean, value @ Value::Boolean(_))
            | (Self::Json, value @ Value::Json(_))
            | (Self::Bytes, value @ Value::Bytes(_)) => Ok(value),
            (_, value) => Err(value),
        }
    }
}

impl Param {
    pub(super) fn new(from: &str, kind: Option<ParamType>, presence: Presence) -> Result<Self, String> {
        let word = WORDS.iter().find(|(word, _)| *word == from);
        let from = match word {
            Some((_, from)) => from.clone(),
            None => From::Field(field(from)?),
        };
        Ok(Self { from, kind, presence })
    }

    /// As the configuration writes it.
    pub fn as_written(&self) -> String {
        match &self.from {
            From::Field(field) => field.to_string(),
            word => WORDS
                .iter()
                .find(|(_, known)| known == word)
                .map_or_else(String::new, |(text, _)| (*text).to_owned()),
        }
    }

    /// The value in this event; the reason why there is none never quotes the event.
    pub fn value(&self, delivery: &Leased) -> Result<Value, String> {
        let found = self.find(delivery)?;
        let value = match (found, self.presence) {
            (Some(value), _) => value,
            (None, Presence::Optional) => Value::Null,
            (None, Presence::Required) => {
                return Err(format!(
                    "the event has no `{}`; correct the place, or mark it: {{ from = \"…\", optional = true }}",
                    self.as_written()
                ));
            }
        };
        let Some(kind) = self.kind else {
            return Ok(value);
        };
        kind.of(value).map_err(|value| {
            format!(
                "`{}` is {}, not of type {}",
                self.as_written(),
                value.name(),
                kind.as_str()
            )
        })
    }

    fn body(&self, body: &bytes::Bytes) -> Result<Value, String> {
        if self.kind == Some(ParamType::Bytes) {
            return Ok(Value::Bytes(body.clone()));
        }
        let text = std::str::from_utf8(body).map_err(|_| {
            "the body is not UTF-8; take it as it is: { from = \"body\", type = \"bytes\" }".to_owned()
        })?;
        Ok(match self.kind {
            Some(ParamType::Json) => Value::Json(text.to_owned()),
            _ => Value::Text(text.to_owned()),
        })
    }

    fn find(&self, delivery: &Leased) -> Result<Option<Value>, String> {
        let event = &delivery.event;
        Ok(match &self.from {
            From::Field(field) => {
                for place in field.paths() {
                    if let Some(value) = at(place, event)? {
                        return Ok(Some(value));
                    }
                }
                None
            }
            From::Body => Some(self.body(&event.body)?),
            From::EventId => Some(Value::Text(event.identity.event_id.clone())),
            From::EventType => event.event_type.clone().map(Value::Text),
            From::Source => Some(Value::Text(event.source.as_str().to_owned())),
            From::Id => Some(Value::Text(event.id.to_string())),
            From::ReceivedAt => Some(Value::Text(event.received_at.to_string())),
            From::IdempotencyKey => Some(Value::Text(crate::outbox::key_of(delivery))),
            From::Generation => Some(Value::Number(delivery.generation.to_string())),
        })
    }
}

impl Value {
    const fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Text(_) => "a text",
            Self::Number(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::Json(_) => "an object or a list",
            Self::Bytes(_) => "the body",
        }
    }
}

/// A field of the event itself: what else its request had is gone when it is delivered.
fn field(from: &str) -> Result<Field, String> {
    let field: Field = from.parse().map_err(|error: hapax_verify::SetupError| {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        format!("{error}; or one of {}", words.join(", "))
    })?;
    match field.paths().iter().find(|place| !place.is_in_event()) {
        None => Ok(field),
        Some(place) => Err(format!(
            "\"{place}\" is not in an event any more when it is delivered; write \"body:/json/pointer\" or \"header:NAME\""
        )),
    }
}

fn at(place: &ValuePath, event: &hapax_core::StoredEvent) -> Result<Option<Value>, String> {
    match place {
        ValuePath::Header(name) => event
            .headers
            .get(name)
            .map(|value| {
                String::from_utf8(value.to_vec())
                    .map(Value::Text)
                    .map_err(|_| format!("the header `{name}` is not UTF-8"))
            })
            .transpose(),
        ValuePath::Body(pointer) | ValuePath::Flag(pointer) => {
            Ok(pointer::find(&event.body, pointer).and_then(json))
        }
        ValuePath::BodySha256 => Ok(Some(Value::Text(event.raw_hash.to_string()))),
        ValuePath::Form(name) => Ok(form(&event.body, name).map(Value::Text)),
        ValuePath::Text(text) => Ok(Some(Value::Text(text.clone()))),
        ValuePath::Present(keys) => {
            let mut keys = keys.iter();
            let found = keys.find(|key| pointer::find(&event.body, &Pointer::of_key(key)).is_some());
            Ok(found.map(|key| Value::Text(key.clone())))
        }
        // The configuration refuses these: they are not in an event.
        ValuePath::Proof(_)
        | ValuePath::Query(_)
        | ValuePath::Request(_)
        | ValuePath::RequestSha256
        | ValuePath::Index => Ok(None),
    }
}

fn form(body: &[u8], name: &str) -> Option<String> {
    let found = form_urlencoded::parse(body).find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

fn json(raw: &RawValue) -> Option<Value> {
    let text = raw.get();
    Some(match text.as_bytes().first()? {
        b'"' => Value::Text(serde_json::from_str(text).ok()?),
        b'n' => Value::Null,
        b't' => Value::Boolean(true),
        b'f' => Value::Boolean(false),
        b'{' | b'[' => Value::Json(text.to_owned()),
        _ => Value::Number(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_an_event_is_no_parameter() {
        let new = |from| Param::new(from, None, Presence::Required);
        for from in [
            "query:code",
            "request:/realm",
            "request-sha256",
            "index",
            "body:/a|query:b",
        ] {
            let message = new(from).err().unwrap();
            assert!(message.contains("not in an event any more"), "{message}");
        }
        for from in [
            "body:/a",
            "header:x",
            "form:MessageSid",
            "body-sha256",
            "event_id",
        ] {
            assert!(new(from).is_ok(), "{from}");
        }
    }
}

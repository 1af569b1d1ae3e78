//! A parameter of a `sql` destination: where in the event its value is, and its type.

use hapax_verify::Field;

use crate::setting::words;

/// The origin and type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    pub from: ValueFrom,
    pub kind: Option<ParamType>,
    pub presence: Presence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Required,
    /// A missing value becomes NULL.
    Optional,
}

/// The type of a value. Without one, the value is passed as the event has it, and the database decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// Text. A number or a JSON document is passed as written.
    Text,
    Integer,
    Number,
    Boolean,
    Json,
    /// The body, byte for byte; only for `body`.
    Bytes,
}

/// A value for a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Null,
    Text(String),
    /// A number as written, so that no digit is lost.
    Number(String),
    Boolean(bool),
    /// A JSON document as written.
    Json(String),
    Bytes(bytes::Bytes),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueFrom {
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

const WORDS: [(&str, ValueFrom); 8] = [
    ("body", ValueFrom::Body),
    ("event_id", ValueFrom::EventId),
    ("event_type", ValueFrom::EventType),
    ("source", ValueFrom::Source),
    ("id", ValueFrom::Id),
    ("received_at", ValueFrom::ReceivedAt),
    ("idempotency_key", ValueFrom::IdempotencyKey),
    ("generation", ValueFrom::Generation),
];

words!(ParamType {
    Text,
    Integer,
    Number,
    Boolean,
    Json,
    Bytes,
});

impl ParamType {
    /// The type as written in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Json => "json",
            Self::Bytes => "bytes",
        }
    }
}

impl Param {
    pub(super) fn new(from: &str, kind: Option<ParamType>, presence: Presence) -> Result<Self, String> {
        let word = WORDS.iter().find(|(word, _)| *word == from);
        let from = match word {
            Some((_, from)) => from.clone(),
            None => ValueFrom::Field(field(from)?),
        };
        Ok(Self { from, kind, presence })
    }

    /// The parameter as written in the file.
    pub fn as_written(&self) -> String {
        match &self.from {
            ValueFrom::Field(field) => field.to_string(),
            word => WORDS
                .iter()
                .find(|(_, known)| known == word)
                .map_or_else(String::new, |(text, _)| (*text).to_owned()),
        }
    }
}

/// A field of the event itself. Other parts of the request are no longer available when the event is delivered.
fn field(from: &str) -> Result<Field, String> {
    let field: Field = from.parse().map_err(|error: hapax_verify::SetupError| {
        let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        format!("{error}; or one of {}", words.join(", "))
    })?;
    match field.paths().iter().find(|place| !place.is_in_event()) {
        None => Ok(field),
        Some(place) => Err(format!(
            "\"{place}\" is no longer available when an event is delivered; write \"body:/json/pointer\" or \
             \"header:NAME\""
        )),
    }
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
            assert!(message.contains("is no longer available"), "{message}");
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

//! Locations of an id or type, and their text form: `header:x-event-id`, `body:/data/id`, `body-sha256`.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use crate::limits::{COMPOSITE_PARTS_MAX, POINTER_DEPTH_MAX};
use crate::request::header_name;
use crate::setup::{FieldProblem, SetupError};

/// One part of an id or type: the first of its locations that is present counts.
///
/// Alternatives are separated by `|`: `header:webhook-id|header:svix-id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    paths: Vec<ValuePath>,
}

/// A location inside a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValuePath {
    /// The header with this lower-case name.
    Header(String),
    /// The value with this name in the query.
    Query(String),
    /// The value inside the event's own JSON body; for a split request, the item.
    Body(Pointer),
    /// The first value with this name in a form body, or in the query of a GET. A `#` is followed by a JSON pointer
    /// into that value, for providers that put JSON into a form: `form:payload#/trigger_id`.
    Form(String),
    /// The SHA-256 of the event's own body, in hexadecimal; in an id, without the values that change between attempts.
    /// Used only if named explicitly: two real events may have the same bytes.
    BodySha256,
    /// The value inside the whole request's JSON body.
    Request(Pointer),
    /// The SHA-256 of the whole request's body, in hexadecimal.
    RequestSha256,
    /// The position inside a split request, counted from 0.
    Index,
    /// The first of these keys that the event's own JSON object contains.
    Present(Vec<String>),
    /// Like [`ValuePath::Body`], but `true` and `false` count as well.
    Flag(Pointer),
    /// A value that the proof itself has read under this name, for bodies that are neither JSON nor a form.
    Proof(String),
    /// A fixed text.
    Text(String),
}

/// A parsed JSON pointer (RFC 6901). `hapax-core` reads them, too: this crate stands alone, and reads every location of a
/// provider in one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    tokens: Vec<String>,
}

/// One field, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldList {
    fields: Vec<Field>,
}

/// The part of a request that contains a location.
pub(crate) enum Origin<'a> {
    /// The header with this name.
    Header(&'a str),
    /// The URL.
    Url,
    /// The body, or something derived from it.
    Body,
}

impl ValuePath {
    /// Whether the location is inside one event, so that it is still available once the event is stored.
    pub fn is_in_event(&self) -> bool {
        match self {
            ValuePath::Header(_)
            | ValuePath::Body(_)
            | ValuePath::Form(_)
            | ValuePath::BodySha256
            | ValuePath::Present(_)
            | ValuePath::Flag(_)
            | ValuePath::Text(_) => true,
            ValuePath::Proof(_)
            | ValuePath::Query(_)
            | ValuePath::Request(_)
            | ValuePath::RequestSha256
            | ValuePath::Index => false,
        }
    }

    /// The part of a request that contains the location.
    pub(crate) fn origin(&self) -> Origin<'_> {
        match self {
            ValuePath::Header(name) => Origin::Header(name),
            ValuePath::Query(_) => Origin::Url,
            ValuePath::Body(_)
            | ValuePath::Form(_)
            | ValuePath::BodySha256
            | ValuePath::Request(_)
            | ValuePath::RequestSha256
            | ValuePath::Index
            | ValuePath::Present(_)
            | ValuePath::Flag(_)
            | ValuePath::Proof(_)
            | ValuePath::Text(_) => Origin::Body,
        }
    }
}

impl Field {
    /// The locations, in the order in which they are tried.
    pub fn paths(&self) -> &[ValuePath] {
        &self.paths
    }
}

impl Pointer {
    /// The pointer to a key of an object.
    pub fn of_key(key: &str) -> Self {
        Self::of_keys(&[key])
    }

    /// The pointer to a key of a nested object.
    pub(crate) fn of_keys(keys: &[&str]) -> Self {
        Pointer {
            tokens: keys.iter().map(|key| (*key).to_owned()).collect(),
        }
    }

    /// The pointer with these unescaped reference tokens.
    pub(super) fn of_tokens(tokens: Vec<String>) -> Self {
        Pointer { tokens }
    }

    /// The unescaped reference tokens.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }
}

impl FieldList {
    /// A list of at least one field.
    pub fn new(fields: Vec<Field>) -> Result<Self, SetupError> {
        if fields.is_empty() || fields.len() > COMPOSITE_PARTS_MAX {
            return Err(SetupError::CompositeSize { count: fields.len() });
        }
        Ok(FieldList { fields })
    }

    /// The fields.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

impl FromStr for Field {
    type Err = SetupError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let paths = alternatives(text)
            .into_iter()
            .map(|path| {
                path.parse().map_err(|problem| SetupError::Field {
                    text: text.to_owned(),
                    problem,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Field { paths })
    }
}

impl FromStr for ValuePath {
    type Err = FieldProblem;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "body-sha256" => return Ok(ValuePath::BodySha256),
            "request-sha256" => return Ok(ValuePath::RequestSha256),
            "index" => return Ok(ValuePath::Index),
            _ => {}
        }
        if let Some(name) = text.strip_prefix("header:") {
            if name.contains('|') {
                // HTTP allows `|` in a name, but here it separates alternatives.
                return Err(FieldProblem::HeaderName);
            }
            return header_name(name)
                .map(ValuePath::Header)
                .map_err(|_| FieldProblem::HeaderName);
        }
        let (kind, rest) = text.split_once(':').ok_or(FieldProblem::UnknownKind)?;
        let named = |make: fn(String) -> ValuePath| match rest {
            "" => Err(FieldProblem::UnknownKind),
            name => Ok(make(name.to_owned())),
        };
        match kind {
            "body" => rest.parse().map(ValuePath::Body),
            "request" => rest.parse().map(ValuePath::Request),
            "query" => named(ValuePath::Query),
            "form" => named(ValuePath::Form),
            "text" => named(ValuePath::Text),
            "flag" => rest.parse().map(ValuePath::Flag),
            "proof" => named(ValuePath::Proof),
            "present" => named(|keys| ValuePath::Present(keys.split(',').map(str::to_owned).collect())),
            _ => Err(FieldProblem::UnknownKind),
        }
    }
}

impl FromStr for Pointer {
    type Err = FieldProblem;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Ok(Pointer { tokens: Vec::new() });
        }
        let rest = text.strip_prefix('/').ok_or(FieldProblem::Pointer)?;
        let tokens = rest.split('/').map(unescape).collect::<Result<Vec<_>, _>>()?;
        if tokens.len() > POINTER_DEPTH_MAX {
            return Err(FieldProblem::PointerDepth);
        }
        Ok(Pointer { tokens })
    }
}

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.paths.iter().enumerate() {
            if index > 0 {
                formatter.write_str("|")?;
            }
            path.fmt(formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValuePath::Header(name) => write!(formatter, "header:{name}"),
            ValuePath::Body(pointer) => write!(formatter, "body:{pointer}"),
            ValuePath::Query(name) => write!(formatter, "query:{name}"),
            ValuePath::Form(name) => write!(formatter, "form:{name}"),
            ValuePath::BodySha256 => formatter.write_str("body-sha256"),
            ValuePath::Request(pointer) => write!(formatter, "request:{pointer}"),
            ValuePath::RequestSha256 => formatter.write_str("request-sha256"),
            ValuePath::Index => formatter.write_str("index"),
            ValuePath::Present(keys) => write!(formatter, "present:{}", keys.join(",")),
            ValuePath::Text(text) => write!(formatter, "text:{text}"),
            ValuePath::Flag(pointer) => write!(formatter, "flag:{pointer}"),
            ValuePath::Proof(name) => write!(formatter, "proof:{name}"),
        }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            write!(formatter, "/{}", token.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

impl fmt::Display for FieldList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, field) in self.fields.iter().enumerate() {
            if index > 0 {
                formatter.write_str(" + ")?;
            }
            field.fmt(formatter)?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Pointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for FieldList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FieldListVisitor)
    }
}

struct FieldListVisitor;

impl<'de> Visitor<'de> for FieldListVisitor {
    type Value = FieldList;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a location such as \"header:x-event-id\" or \"body:/id\", or a list of them")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FieldList, E> {
        let field = text.parse().map_err(E::custom)?;
        FieldList::new(vec![field]).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<FieldList, A::Error> {
        let mut fields = Vec::new();
        while let Some(text) = sequence.next_element::<String>()? {
            fields.push(text.parse().map_err(A::Error::custom)?);
        }
        FieldList::new(fields).map_err(A::Error::custom)
    }
}

/// The prefixes of locations.
const KINDS: [&str; 12] = [
    "header:",
    "query:",
    "body:",
    "form:",
    "body-sha256",
    "request:",
    "request-sha256",
    "index",
    "present:",
    "text:",
    "flag:",
    "proof:",
];

/// Splits at each `|` that is followed by a known prefix; any other `|` belongs to a JSON pointer.
fn alternatives(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('|') {
        let rest = &text[at + 1..];
        if KINDS.iter().any(|kind| rest.starts_with(kind)) {
            found.push(&text[start..at]);
            start = at + 1;
        }
    }
    found.push(&text[start..]);
    found
}

fn unescape(token: &str) -> Result<String, FieldProblem> {
    let mut rest = token.split('~');
    let mut unescaped = rest.next().unwrap_or_default().to_owned();
    for piece in rest {
        let replaced = match piece.as_bytes().first() {
            Some(b'0') => '~',
            Some(b'1') => '/',
            Some(_) | None => return Err(FieldProblem::Pointer),
        };
        unescaped.push(replaced);
        unescaped.push_str(&piece[1..]);
    }
    Ok(unescaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_field_reads_back_as_itself() {
        for text in [
            "header:x-event-id",
            "body:/data/id",
            "body:/a~1b/~0/0",
            "body:",
            "body-sha256",
            "query:code",
            "form:MessageSid",
            "form:payload#/trigger_id",
            "request:/realmId",
            "request-sha256",
            "index",
            "present:message,poll",
            "text:list_folder",
            "flag:/success",
            "proof:kind",
            "header:webhook-id|header:svix-id",
            "body:/a|b|body:/c",
        ] {
            assert_eq!(text.parse::<Field>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_field_is_refused_with_what_to_write() {
        for text in [
            "",
            "id",
            "header:",
            "header:a b",
            "body:id",
            "body:/~2",
            "body:/~",
            "sha256",
            "header:a|",
        ] {
            assert!(text.parse::<Field>().is_err(), "{text}");
        }
        let message = "id".parse::<Field>().unwrap_err().to_string();
        assert!(message.contains("header:NAME"), "{message}");
        assert!(format!("body:{}", "/a".repeat(33)).parse::<Field>().is_err());
    }

    #[test]
    fn a_list_is_a_composite_and_must_not_be_empty() {
        #[derive(Deserialize)]
        struct Table {
            event_id: FieldList,
        }
        let one: Table = toml::from_str("event_id = \"body:/id\"").unwrap();
        assert_eq!(one.event_id.fields().len(), 1);
        let two: Table = toml::from_str("event_id = [\"body:/id\", \"header:x\"]").unwrap();
        assert_eq!(two.event_id.to_string(), "body:/id + header:x");
        assert!(toml::from_str::<Table>("event_id = []").is_err());
        assert!(toml::from_str::<Table>("event_id = 3").is_err());
    }
}

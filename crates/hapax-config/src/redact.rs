//! Fields of bodies that are hidden from people. Destinations receive bodies unchanged.
//!
//! It fails closed: if a body cannot be parsed, none of it is shown.

use std::borrow::Cow;
use std::fmt;

use hapax_core::json_pointer::{self, POINTER_BYTES_MAX, json_text};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Replaces a hidden value.
pub(crate) const HIDDEN: &str = "***";
/// A path segment that matches every element of an array and every member of an object.
const EVERY: &str = "*";

/// One or more fields: a JSON Pointer whose segments may be `*`. In a form, the first segment names the field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedField {
    text: String,
    parts: Vec<String>,
}

/// The hidden fields of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction(Vec<RedactedField>);

impl RedactedField {
    /// The top-level field of a body with this name.
    pub fn at_top(name: &str) -> Self {
        Self {
            text: format!("/{name}"),
            parts: vec![name.to_owned()],
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the value at the pointer is hidden or contains a hidden value.
    fn meets(&self, pointer: &[String]) -> bool {
        let mut pairs = self.parts.iter().zip(pointer);
        pairs.all(|(part, asked)| part == EVERY || part == asked)
    }
}

impl std::str::FromStr for RedactedField {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = json_pointer::tokens(text).map_err(|_| {
            format!(
                "`{text}` is not a JSON pointer of at most {POINTER_BYTES_MAX} bytes; write it like \
                 \"/data/object/email\", or \"/items/*/email\" for every item"
            )
        })?;
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }
}

impl FromIterator<RedactedField> for Redaction {
    fn from_iter<I: IntoIterator<Item = RedactedField>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl Redaction {
    /// The fields as configured.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(RedactedField::as_str)
    }

    /// These fields and `others`.
    #[must_use]
    pub fn and(&self, others: impl IntoIterator<Item = RedactedField>) -> Self {
        self.0.iter().cloned().chain(others).collect()
    }

    /// Whether searching for a value at this JSON Pointer would reveal a hidden field's content.
    pub fn hides(&self, pointer: &str) -> bool {
        // What is not a pointer finds no value.
        let asked = json_pointer::tokens(pointer);
        asked.is_ok_and(|asked| self.0.iter().any(|field| field.meets(&asked)))
    }

    /// A body as shown to people; every byte that is not hidden is unchanged. A body that is neither JSON nor a form is
    /// hidden entirely, because its fields are unknown.
    pub fn apply<'body>(&self, body: &'body [u8], content_type: Option<&[u8]>) -> Cow<'body, [u8]> {
        if self.0.is_empty() || body.is_empty() {
            return Cow::Borrowed(body);
        }
        self.json(body)
            .or_else(|| self.form(body, content_type))
            .unwrap_or(Cow::Borrowed(HIDDEN.as_bytes()))
    }

    fn json<'body>(&self, body: &'body [u8]) -> Option<Cow<'body, [u8]>> {
        let text = std::str::from_utf8(json_text(body)).ok()?;
        let fields: Vec<&[String]> = self.0.iter().map(|field| &field.parts[..]).collect();
        let mut reader = serde_json::Deserializer::from_str(text);
        let mut found = Vec::new();
        Below {
            fields,
            found: &mut found,
        }
        .deserialize(&mut reader)
        .ok()?;
        reader.end().ok()?;
        if found.is_empty() {
            return Some(Cow::Borrowed(body));
        }
        let mut shown = Vec::with_capacity(body.len());
        let mut rest = body;
        for value in found {
            // A raw value is a slice of the text, so its address gives the number of bytes before it.
            let before = (value.as_ptr() as usize).checked_sub(rest.as_ptr() as usize)?;
            shown.extend_from_slice(rest.get(..before)?);
            shown.extend_from_slice(format!("\"{HIDDEN}\"").as_bytes());
            rest = rest.get(before + value.len()..)?;
        }
        shown.extend_from_slice(rest);
        Some(Cow::Owned(shown))
    }

    fn form<'body>(&self, body: &'body [u8], content_type: Option<&[u8]>) -> Option<Cow<'body, [u8]>> {
        const TYPE: &[u8] = b"application/x-www-form-urlencoded";
        content_type?
            .get(..TYPE.len())
            .filter(|found| found.eq_ignore_ascii_case(TYPE))?;
        let pairs = body.split(|byte| *byte == b'&').map(|pair| {
            let name = form_urlencoded::parse(pair).next().map(|(name, _)| name);
            let is_hidden = name.is_some_and(|name| {
                let first = |field: &RedactedField| field.parts[0] == EVERY || field.parts[0] == name;
                self.0.iter().any(first)
            });
            let end = pair.iter().position(|byte| *byte == b'=');
            match end.filter(|_| is_hidden) {
                Some(end) => [&pair[..=end], HIDDEN.as_bytes()].concat(),
                None => pair.to_vec(),
            }
        });
        Some(Cow::Owned(pairs.collect::<Vec<_>>().join(&b'&')))
    }
}

/// Descends to the values that the remaining segments of some fields name, in the order of the text. Apart from
/// `json_pointer::find`, because it finds all values of several fields, with wildcards, in one pass.
struct Below<'f, 'found, 'de> {
    fields: Vec<&'f [String]>,
    found: &'found mut Vec<&'de str>,
}

impl<'f> Below<'f, '_, '_> {
    /// For the fields that continue in this segment, the segments that remain.
    fn inside(&self, part: &str) -> Vec<&'f [String]> {
        let goes_on = |field: &&'f [String]| {
            let (first, rest) = field.split_first()?;
            (first == EVERY || first == part).then_some(rest)
        };
        self.fields.iter().filter_map(goes_on).collect()
    }
}

impl<'de> DeserializeSeed<'de> for Below<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.fields.is_empty() {
            return IgnoredAny::deserialize(deserializer).map(drop);
        }
        if self.fields.iter().any(|field| field.is_empty()) {
            self.found.push(<&RawValue>::deserialize(deserializer)?.get());
            return Ok(());
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Below<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let fields = self.inside(&key);
            let found = &mut *self.found;
            map.next_value_seed(Below { fields, found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for index in 0_usize.. {
            let fields = self.inside(&index.to_string());
            let found = &mut *self.found;
            if list.next_element_seed(Below { fields, found })?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

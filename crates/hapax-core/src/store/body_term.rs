//! Values at JSON pointers: the terms of a query over bodies, and the fields that a source may index.
//!
//! The body is read in one pass, without building the document: a search reads up to tens of thousands of bodies.

use std::borrow::Cow;
use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The maximum length of a pointer in a query or an index, in bytes.
pub const POINTER_BYTES_MAX: usize = 256;

/// Matches events whose body has this value at this pointer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyTerm {
    /// The JSON pointer (RFC 6901).
    pub pointer: String,
    /// The value as a string: strings without their quotes; numbers, `true`, `false` and `null` as written.
    pub value: String,
}

impl BodyTerm {
    /// Whether a body has the value. A body that is not JSON never matches.
    pub fn fits(&self, body: &[u8]) -> bool {
        value_at(body, &self.pointer).is_some_and(|value| value == self.value)
    }
}

/// Whether a string is a JSON pointer to something inside a document, within the length limit.
pub fn is_pointer(text: &str) -> bool {
    let escapes_are_whole = text
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with('0') || rest.starts_with('1'));
    text.starts_with('/') && text.len() <= POINTER_BYTES_MAX && escapes_are_whole
}

/// The body without the byte-order mark that a few providers write before JSON. The stored and delivered body keeps it.
pub fn json_text(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// The value at a pointer as a string; `None` if there is none, or if it is an object or an array. As in most JSON
/// parsers, the last of several equal keys wins.
pub fn value_at<'body>(body: &'body [u8], pointer: &str) -> Option<Cow<'body, str>> {
    let tokens: Vec<Cow<'_, str>> = pointer.split('/').skip(1).map(unescape).collect();
    let mut reader = serde_json::Deserializer::from_slice(json_text(body));
    let raw = At(&tokens).deserialize(&mut reader).ok()??;
    reader.end().ok()?;
    let raw = raw.get().trim();
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str::<Text<'body>>(raw).ok().map(|text| text.0),
        b'{' | b'[' => None,
        _ => Some(Cow::Borrowed(raw)),
    }
}

/// A string that borrows from the body unless it contains an escape.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'body>(#[serde(borrow)] Cow<'body, str>);

fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

/// An indexed value, reduced to a digest of fixed length.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexedValue {
    /// The JSON pointer of the field.
    pub pointer: String,
    /// The beginning of the value's SHA-256. Different values may share it, so a lookup must compare the body, too.
    pub digest: i64,
}

impl IndexedValue {
    /// The values of a body at the given pointers, where it has them.
    pub fn of_body<'a>(body: &[u8], pointers: impl IntoIterator<Item = &'a String>) -> Vec<Self> {
        let found = pointers
            .into_iter()
            .filter_map(|pointer| value_at(body, pointer).map(|value| Self::new(pointer, &value)));
        found.collect()
    }

    /// The indexed form of the value that a term searches for.
    pub fn of_term(term: &BodyTerm) -> Self {
        Self::new(&term.pointer, &term.value)
    }

    fn new(pointer: &str, value: &str) -> Self {
        let hash = digest(&SHA256, value.as_bytes());
        let mut head = [0; 8];
        head.copy_from_slice(&hash.as_ref()[..8]);
        Self {
            pointer: pointer.to_owned(),
            digest: i64::from_be_bytes(head),
        }
    }
}

/// Descends to the value at the rest of a pointer.
struct At<'t>(&'t [Cow<'t, str>]);

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return <&RawValue>::deserialize(deserializer).map(Some);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if key.0 == self.0[0] {
                found = map.next_value_seed(At(&self.0[1..]))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let wanted = index(&self.0[0]);
        let mut found = None;
        let mut place = 0;
        loop {
            if Some(place) == wanted {
                match list.next_element_seed(At(&self.0[1..]))? {
                    Some(value) => found = value,
                    None => return Ok(found),
                }
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            place += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// An array index: digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let is_plain =
        token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    token.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] =
        br#"{"data":{"object":{"id":"ord_1","amount":1200,"paid":true,"note":null,"name":"J\u00fcrg \"x\"",
        "lines":[{"sku":"a"},{"sku":"b"}]}},"a/b":{"c~d":"slashed"},"twice":1,"twice":"last"}"#;

    #[test]
    fn a_value_is_found_where_its_pointer_leads_whatever_its_kind() {
        for (pointer, value) in [
            ("/data/object/id", "ord_1"),
            ("/data/object/amount", "1200"),
            ("/data/object/paid", "true"),
            ("/data/object/note", "null"),
            ("/data/object/name", "Jürg \"x\""),
            ("/data/object/lines/1/sku", "b"),
            ("/a~1b/c~0d", "slashed"),
            ("/twice", "last"),
        ] {
            assert_eq!(value_at(BODY, pointer).as_deref(), Some(value), "{pointer}");
            let marked = [b"\xef\xbb\xbf", BODY].concat();
            assert_eq!(value_at(&marked, pointer).as_deref(), Some(value), "{pointer}");
        }
    }

    #[test]
    fn there_is_no_value_at_an_object_a_missing_place_or_in_what_is_not_json() {
        for pointer in [
            "/data",
            "/data/object/lines",
            "/data/object/id/deeper",
            "/nothing",
            "/data/object/lines/2/sku",
            "/data/object/lines/01/sku",
        ] {
            assert_eq!(value_at(BODY, pointer), None, "{pointer}");
        }
        for body in [
            &b"id=ord_1"[..],
            b"",
            b"{\"id\":\"x\"",
            b"{\"id\":\"x\"} trailing",
            b"\xff",
        ] {
            assert_eq!(value_at(body, "/id"), None, "{body:?}");
        }
    }

    #[test]
    fn a_pointer_begins_with_a_slash_and_escapes_whole() {
        assert!(is_pointer("/a") && is_pointer("/a~1b/c~0d") && is_pointer("/"));
        for text in ["", "a", "/a~", "/a~2"] {
            assert!(!is_pointer(text), "{text}");
        }
        assert!(!is_pointer(&format!("/{}", "a".repeat(POINTER_BYTES_MAX))));
    }

    #[test]
    fn an_indexed_value_is_the_same_for_a_body_and_for_a_term() {
        let pointers = ["/data/object/id".to_owned(), "/missing".to_owned()];
        let term = BodyTerm {
            pointer: pointers[0].clone(),
            value: "ord_1".to_owned(),
        };
        assert_eq!(
            IndexedValue::of_body(BODY, &pointers),
            [IndexedValue::of_term(&term)]
        );
        assert!(term.fits(BODY));
    }
}

//! JSON pointers (RFC 6901): their tokens, and the value that they lead to.
//!
//! The body is read in one pass, without building the document: a search reads up to tens of thousands of bodies. Where a
//! document has been built anyway, `serde_json::Value::pointer` serves.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The maximum length of a pointer in a query or an index, in bytes.
pub const POINTER_BYTES_MAX: usize = 256;

/// The string is not a JSON pointer to something inside a document, or is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a JSON pointer of at most {POINTER_BYTES_MAX} bytes, such as /data/object/id")]
pub struct NotAPointer;

/// The unescaped reference tokens of a pointer to something inside a document.
///
/// # Errors
/// The string is not such a pointer, or is longer than [`POINTER_BYTES_MAX`].
pub fn tokens(pointer: &str) -> Result<Vec<String>, NotAPointer> {
    let escapes_are_whole = pointer
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with(['0', '1']));
    if !pointer.starts_with('/') || pointer.len() > POINTER_BYTES_MAX || !escapes_are_whole {
        return Err(NotAPointer);
    }
    let unescape = |token: &str| token.replace("~1", "/").replace("~0", "~");
    Ok(pointer.split('/').skip(1).map(unescape).collect())
}

/// Whether a string is a JSON pointer to something inside a document, within the length limit.
pub fn is_pointer(text: &str) -> bool {
    tokens(text).is_ok()
}

/// The body without the byte-order mark that a few providers write before JSON. The stored and delivered body keeps it.
pub fn json_text(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// The value at these tokens, as it is written; `None` if there is none, or if the body is not JSON. As in most JSON
/// parsers, the last of several equal keys wins.
pub fn find<'body>(body: &'body [u8], tokens: &[String]) -> Option<&'body RawValue> {
    let mut reader = serde_json::Deserializer::from_slice(json_text(body));
    let found = At(tokens).deserialize(&mut reader).ok()??;
    reader.end().ok()?;
    Some(found)
}

/// A value as a string: strings without their quotes; numbers, `true`, `false` and `null` as written. `None` if it is an
/// object or an array.
pub fn text_of(value: &RawValue) -> Option<Cow<'_, str>> {
    let raw = value.get().trim();
    match raw.as_bytes().first()? {
        b'"' => serde_json::from_str::<Text<'_>>(raw).ok().map(|text| text.0),
        b'{' | b'[' => None,
        _ => Some(Cow::Borrowed(raw)),
    }
}

/// A string that borrows from the body unless it contains an escape.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'body>(#[serde(borrow)] Cow<'body, str>);

/// Descends to the value at the rest of a pointer.
struct At<'t>(&'t [String]);

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

    #[test]
    fn a_pointer_begins_with_a_slash_and_escapes_whole() {
        for (pointer, expected) in [
            ("/", &[""][..]),
            ("/a", &["a"][..]),
            ("/a~1b/c~0d", &["a/b", "c~d"][..]),
            ("/~01", &["~1"][..]),
            ("/a/", &["a", ""][..]),
        ] {
            assert_eq!(tokens(pointer).unwrap(), expected, "{pointer}");
        }
        for text in ["", "a", "/a~", "/a~2", "/~~0", "#/a"] {
            assert!(!is_pointer(text), "{text}");
        }
        assert!(!is_pointer(&format!("/{}", "a".repeat(POINTER_BYTES_MAX))));
    }

    #[test]
    fn an_index_is_a_number_without_sign_or_leading_zero() {
        let found = |pointer| find(br#"[ "a", {"1":[2]} ]"#, &tokens(pointer).unwrap()).map(RawValue::get);
        assert_eq!(found("/0"), Some("\"a\""));
        assert_eq!(found("/1/1"), Some("[2]"));
        for pointer in ["/00", "/01", "/+1", "/-", "/-1", "/2", "/", "/1/1/1"] {
            assert_eq!(found(pointer), None, "{pointer}");
        }
    }
}

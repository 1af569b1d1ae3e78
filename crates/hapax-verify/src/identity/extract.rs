//! Extracts several JSON pointers from one body in one pass, without building the document.
//!
//! The pointers are compiled to a small tree; the parser descends along it and skips everything else. As with
//! `serde_json::Value`, the last of several equal keys wins.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Pointer;
use crate::limits::POINTERS_MAX;
use crate::request::json_text;
use crate::setup::SetupError;

#[derive(Debug, Default)]
pub(crate) struct Pointers {
    root: Node,
    known: Vec<Pointer>,
}

/// The raw JSON text found at each pointer.
#[derive(Debug)]
pub(crate) struct Extracted<'body> {
    slots: Slots<'body>,
}

type Slots<'body> = [Option<&'body str>; POINTERS_MAX];

#[derive(Debug, Default)]
struct Node {
    slot: Option<usize>,
    children: Vec<Child>,
}

#[derive(Debug)]
struct Child {
    token: String,
    index: Option<usize>,
    node: Node,
}

impl Pointers {
    /// Adds a pointer and returns its slot; equal pointers share one.
    pub(crate) fn add(&mut self, pointer: &Pointer) -> Result<usize, SetupError> {
        if let Some(slot) = self.known.iter().position(|known| known == pointer) {
            return Ok(slot);
        }
        let slot = self.known.len();
        if slot == POINTERS_MAX {
            return Err(SetupError::TooManyPointers);
        }
        self.known.push(pointer.clone());
        self.root.insert(pointer.tokens(), slot);
        Ok(slot)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Reads the whole body once; fails if the body is not JSON.
    pub(crate) fn extract<'body>(&self, body: &'body [u8]) -> Result<Extracted<'body>, serde_json::Error> {
        let mut extracted = Extracted {
            slots: [None; POINTERS_MAX],
        };
        let mut deserializer = serde_json::Deserializer::from_slice(json_text(body));
        Search {
            node: &self.root,
            slots: &mut extracted.slots,
        }
        .deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(extracted)
    }
}

impl<'body> Extracted<'body> {
    /// The raw JSON text at a pointer.
    pub(crate) fn raw(&self, slot: usize) -> Option<&'body str> {
        self.slots.get(slot).copied().flatten()
    }

    /// The range of the value at a pointer inside the body that was read.
    pub(crate) fn range(&self, slot: usize, body: &[u8]) -> Option<Range<usize>> {
        self.raw(slot).map(|raw| range_of(raw, body))
    }

    /// The content of a string or the literal text of a number; `None` for any other value or none.
    pub(crate) fn scalar(&self, slot: usize) -> Result<Option<Cow<'body, str>>, serde_json::Error> {
        let Some(raw) = self.slots.get(slot).copied().flatten() else {
            return Ok(None);
        };
        match raw.as_bytes().first() {
            Some(b'"') if !raw.contains('\\') => Ok(Some(Cow::Borrowed(&raw[1..raw.len() - 1]))),
            Some(b'"') => serde_json::from_str(raw).map(|text: String| Some(Cow::Owned(text))),
            Some(b'-' | b'0'..=b'9') => Ok(Some(Cow::Borrowed(raw))),
            Some(_) | None => Ok(None),
        }
    }
}

impl Node {
    fn insert(&mut self, tokens: &[String], slot: usize) {
        let Some((token, rest)) = tokens.split_first() else {
            self.slot = Some(slot);
            return;
        };
        let known = self.children.iter().position(|child| child.token == *token);
        let at = known.unwrap_or_else(|| {
            self.children.push(Child {
                token: token.clone(),
                index: array_index(token),
                node: Node::default(),
            });
            self.children.len() - 1
        });
        self.children[at].node.insert(rest, slot);
    }

    /// Clears the values of an earlier, equal key.
    fn clear(&self, slots: &mut Slots<'_>) {
        if let Some(slot) = self.slot {
            slots[slot] = None;
        }
        for child in &self.children {
            child.node.clear(slots);
        }
    }
}

/// RFC 6901: no sign and no leading zero.
fn array_index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with(['0', '+']);
    if canonical { token.parse().ok() } else { None }
}

struct Search<'search, 'body> {
    node: &'search Node,
    slots: &'search mut Slots<'body>,
}

impl<'body> DeserializeSeed<'body> for Search<'_, 'body> {
    type Value = ();

    fn deserialize<D: Deserializer<'body>>(self, deserializer: D) -> Result<(), D::Error> {
        self.node.clear(self.slots);
        let Some(slot) = self.node.slot else {
            return deserializer.deserialize_any(self);
        };
        let raw = <&'body RawValue as serde::Deserialize>::deserialize(deserializer)?.get();
        self.slots[slot] = Some(raw);
        if !self.node.children.is_empty() {
            // One pointer ends here and another continues below: only then is a value parsed twice.
            let mut again = serde_json::Deserializer::from_str(raw);
            again.deserialize_any(self).map_err(serde::de::Error::custom)?;
        }
        Ok(())
    }
}

impl<'body> Visitor<'body> for Search<'_, 'body> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'body>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(found) = map.next_key_seed(KeyOf(&self.node.children))? {
            match found {
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
                Some(child) => map.next_value_seed(Search {
                    node: &self.node.children[child].node,
                    slots: &mut *self.slots,
                })?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'body>>(self, mut sequence: A) -> Result<(), A::Error> {
        for index in 0.. {
            let child = self.node.children.iter().find(|child| child.index == Some(index));
            let more = match child {
                None => sequence.next_element::<IgnoredAny>()?.is_some(),
                Some(child) => sequence
                    .next_element_seed(Search {
                        node: &child.node,
                        slots: &mut *self.slots,
                    })?
                    .is_some(),
            };
            if !more {
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

/// Reads a key and returns the child that it names, without storing it.
struct KeyOf<'search>(&'search [Child]);

impl<'body> DeserializeSeed<'body> for KeyOf<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'body>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf<'_> {
    type Value = Option<usize>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|child| child.token == key))
    }
}

/// The range of a slice inside a body. `part` must be a slice of `body`.
pub(super) fn range_of(part: &str, body: &[u8]) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(body.as_ptr() as usize);
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn extract(pointers: &[&str], body: &str) -> Result<Vec<Option<String>>, serde_json::Error> {
        let mut compiled = Pointers::default();
        let slots: Vec<usize> = pointers
            .iter()
            .map(|pointer| compiled.add(&pointer.parse().unwrap()).unwrap())
            .collect();
        let extracted = compiled.extract(body.as_bytes())?;
        slots
            .into_iter()
            .map(|slot| Ok(extracted.scalar(slot)?.map(Cow::into_owned)))
            .collect()
    }

    fn one(pointer: &str, body: &str) -> Option<String> {
        extract(&[pointer], body).unwrap().remove(0)
    }

    #[test]
    fn numbers_are_taken_as_they_are_written() {
        for number in [
            "12345678901234567890123456789",
            "1.10",
            "-0",
            "1e3",
            "0.1000000000000000055",
        ] {
            assert_eq!(
                one("/id", &format!("{{\"id\":{number}}}")).as_deref(),
                Some(number)
            );
        }
    }

    #[test]
    fn what_is_neither_string_nor_number_is_missing() {
        for value in ["true", "null", "{}", "[]", "[1]"] {
            assert_eq!(one("/id", &format!("{{\"id\":{value}}}")), None, "{value}");
        }
    }

    #[test]
    fn escapes_are_decoded_in_values_and_keys() {
        assert_eq!(one("/id", r#"{"\u0069d":"a\u00e9\n"}"#).as_deref(), Some("aé\n"));
        assert_eq!(one("/a~1b/~0", r#"{"a/b":{"~":"x"}}"#).as_deref(), Some("x"));
        assert!(extract(&["/id"], r#"{"id":"\ud800"}"#).is_err());
    }

    #[test]
    fn the_last_of_several_equal_keys_counts_as_in_serde_json() {
        assert_eq!(one("/id", r#"{"id":"a","id":"b"}"#).as_deref(), Some("b"));
        assert_eq!(one("/id", r#"{"id":"a","id":null}"#), None);
        assert_eq!(one("/a/b", r#"{"a":{"b":"x"},"a":{}}"#), None);
        assert_eq!(one("/a/b", r#"{"a":{"b":"x"},"a":3}"#), None);
    }

    #[test]
    fn a_pointer_may_end_above_another() {
        let found = extract(&["/a", "/a/b", ""], r#"{"a":{"b":"x"}}"#).unwrap();
        assert_eq!(found, [None, Some("x".to_owned()), None]);
        assert_eq!(one("", "\"x\"").as_deref(), Some("x"));
    }

    #[test]
    fn what_is_not_json_is_an_error_wherever_the_fault_is() {
        for body in [
            "",
            "{",
            "{\"id\":1}x",
            "{\"id\":1,}",
            "{\"a\":tru,\"id\":1}",
            "payload=%7B%7D",
        ] {
            assert!(extract(&["/id"], body).is_err(), "{body}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 48, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[ab01~/]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde_json(
            document in json(),
            paths in proptest::collection::vec(proptest::collection::vec("[ab01~/]{1,2}", 0..4), 1..6),
        ) {
            let pointers: Vec<String> = paths
                .iter()
                .map(|path| path.iter().fold(String::new(), |pointer, token| pointer + "/" + &token.replace('~', "~0").replace('/', "~1")))
                .collect();
            let expected: Vec<Option<String>> = pointers
                .iter()
                .map(|pointer| match document.pointer(pointer) {
                    Some(Value::String(text)) => Some(text.clone()),
                    Some(Value::Number(number)) => Some(number.to_string()),
                    _ => None,
                })
                .collect();
            let borrowed: Vec<&str> = pointers.iter().map(String::as_str).collect();
            prop_assert_eq!(extract(&borrowed, &document.to_string()).unwrap(), expected);
        }
    }
}

//! Values at JSON pointers: the terms of a query over bodies, and the fields that a source may index.

use std::borrow::Cow;

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::json_pointer;

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

/// The value at a pointer as a string; `None` if there is none, or if it is an object or an array.
fn value_at<'body>(body: &'body [u8], pointer: &str) -> Option<Cow<'body, str>> {
    let tokens = json_pointer::tokens(pointer).ok()?;
    json_pointer::find(body, &tokens).and_then(json_pointer::text_of)
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

//! `order_by`: reads the key of an event's lane from one of its headers or body fields.

use hapax_core::{BodyHash, Headers, json_pointer};
use hapax_engine::OrderBy;
use hapax_verify::Field;
use hapax_verify::identity::{Pointer, ValuePath};

/// The longest key in bytes. A longer one is replaced by its hash, which preserves the order just as well.
const KEY_BYTES_MAX: usize = 255;

/// Reads the key from a field: the first of its paths that is present.
#[derive(Clone, Debug)]
pub struct FieldOrder {
    field: Field,
}

impl FieldOrder {
    pub const fn new(field: Field) -> Self {
        Self { field }
    }
}

impl OrderBy for FieldOrder {
    fn key(&self, headers: &Headers, body: &[u8]) -> Option<String> {
        let found = self.field.paths().iter().find_map(|place| match place {
            ValuePath::Header(name) => headers
                .get(name)
                .map(|value| String::from_utf8_lossy(value).into_owned()),
            ValuePath::Body(pointer) | ValuePath::Flag(pointer) => scalar(body, pointer),
            ValuePath::BodySha256 => Some(BodyHash::of(body).to_string()),
            ValuePath::Form(name) => form_urlencoded::parse(body)
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned()),
            // The configuration refuses these: they do not say which events belong together.
            ValuePath::Query(_)
            | ValuePath::Request(_)
            | ValuePath::RequestSha256
            | ValuePath::Index
            | ValuePath::Present(_)
            | ValuePath::Proof(_)
            | ValuePath::Text(_) => None,
        })?;
        if found.len() > KEY_BYTES_MAX {
            return Some(format!("sha256:{}", BodyHash::of(found.as_bytes())));
        }
        Some(found)
    }
}

/// The string, or the literal text of the number, at `pointer`.
fn scalar(body: &[u8], pointer: &Pointer) -> Option<String> {
    let value = json_pointer::find(body, pointer.tokens())?;
    match value.get().as_bytes().first()? {
        b'"' => serde_json::from_str(value.get()).ok(),
        b'-' | b'0'..=b'9' => Some(value.get().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(field: &str, headers: &[(&str, &[u8])], body: &str) -> Option<String> {
        let order = FieldOrder::new(field.parse().unwrap());
        order.key(&Headers::pack(headers.iter().copied()), body.as_bytes())
    }

    #[test]
    fn the_key_is_read_from_body_or_header() {
        let body = r#"{"data":{"object":[{"id":"or\u0064_1"},{"id":12345678901234567890}]}}"#;
        assert_eq!(key("body:/data/object/0/id", &[], body).as_deref(), Some("ord_1"));
        assert_eq!(
            key("body:/data/object/1/id", &[], body).as_deref(),
            Some("12345678901234567890")
        );
        assert_eq!(
            key("header:x-order", &[("X-Order", b"7")], body).as_deref(),
            Some("7")
        );
    }

    #[test]
    fn an_event_without_the_field_has_no_order_to_keep() {
        for body in ["{}", "[]", "not json", r#"{"id":null}"#, r#"{"id":{}}"#] {
            assert_eq!(key("body:/id", &[], body), None, "{body}");
        }
        assert_eq!(key("header:x-order", &[], "{}"), None);
    }

    #[test]
    fn a_long_key_is_replaced_by_its_hash() {
        let body = format!("{{\"id\":\"{}\"}}", "x".repeat(300));
        assert!(key("body:/id", &[], &body).unwrap().starts_with("sha256:"));
    }
}

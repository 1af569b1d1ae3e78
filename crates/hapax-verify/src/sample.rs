//! Sample deliveries: a small realistic body and the headers that go with it, for a first event and for tests.
//!
//! The signature is not part of a sample; see [`crate::sign`].

mod alone;

pub use alone::alone;

use serde_json::{Map, Value};

use crate::IdentityRule;
use crate::catalogue::Provider;
use crate::identity::{Field, Place, Pointer};
use crate::sign::Delivery;

/// The type of a sample for a source without a preset.
const SAMPLE_TYPE: &str = "hapax.sample";

/// A delivery without its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Its id.
    pub id: String,
    /// The headers besides those of the signature.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Sample {
    /// The same, ready to be signed at this time in unix seconds.
    pub fn delivery(self, timestamp: i64) -> Delivery {
        Delivery {
            id: self.id,
            timestamp,
            headers: self.headers,
            body: self.body,
            ..Delivery::default()
        }
    }
}

/// A delivery as the provider sends it, with this id. Fresh ids are the caller's.
pub fn of_provider(provider: &Provider, id: &str) -> Sample {
    let quoted = Value::from(id).to_string();
    let is_number = !id.is_empty() && !id.starts_with('0') && id.bytes().all(|byte| byte.is_ascii_digit());
    let number = if is_number { id } else { &quoted };
    let headers = provider
        .sample
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.replace("{id}", id)));
    Sample {
        id: id.to_owned(),
        headers: headers.collect(),
        // The template's place is a whole JSON string, so that any id stays valid JSON; in XML it stands alone.
        body: provider
            .sample
            .body
            .trim()
            .replace("\"{id}\"", &quoted)
            .replace("\"{number}\"", number)
            .replace("{id}", id)
            .into_bytes(),
    }
}

/// A delivery that a source's own rule identifies by this id. Of a composite the first part takes the id, and the
/// others a fixed word.
pub fn of_rule(rule: &IdentityRule, id: &str) -> Sample {
    let mut draft = Draft {
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Value::Object(Map::new()),
    };
    // The type goes first: where both name the same place, it is the id that matters.
    if let Some(list) = &rule.event_type {
        draft.put_all(list.fields(), SAMPLE_TYPE);
    }
    let composite = rule.event_id.composites().first();
    let fields = composite.map(crate::FieldList::fields).unwrap_or_default();
    draft.put_all(fields, id);
    let hashes_body = fields
        .iter()
        .flat_map(Field::places)
        .any(|place| *place == Place::BodySha256);
    if hashes_body {
        draft.put_in_body(&["id".to_owned()], id);
    }
    Sample {
        id: id.to_owned(),
        headers: draft.headers,
        body: draft.body.to_string().into_bytes(),
    }
}

struct Draft {
    headers: Vec<(String, String)>,
    body: Value,
}

impl Draft {
    fn put_all(&mut self, fields: &[Field], first: &str) {
        for (index, field) in fields.iter().enumerate() {
            let value = if index == 0 { first } else { "sample" };
            match field.places().first() {
                Some(Place::Header(name)) => self.put_header(name, value),
                Some(Place::Body(pointer)) => self.put_in_body(Pointer::tokens(pointer), value),
                Some(_) | None => {}
            }
        }
    }

    fn put_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    fn put_in_body(&mut self, tokens: &[String], value: &str) {
        let mut place = &mut self.body;
        for token in tokens {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            // An object serves for an array's index as well: a pointer reads both.
            place = &mut place[token.as_str()];
        }
        *place = Value::from(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn any_id_leaves_a_providers_sample_valid_json() {
        for provider in catalogue::all() {
            let sample = of_provider(provider, "a\"b\\c\n");
            let is_form = |(_, value): &(String, String)| value.contains("form");
            if sample.headers.iter().any(is_form) {
                continue;
            }
            serde_json::from_slice::<Value>(&sample.body).unwrap();
        }
    }

    #[test]
    fn a_rules_sample_has_the_id_and_type_where_the_rule_looks() {
        let rule: IdentityRule = toml::from_str(
            "class = \"own-id\"\nevent_id = [\"body:/data/0/id\", \"header:x-part\"]\nevent_type = \"body:/type\"",
        )
        .unwrap();
        let sample = of_rule(&rule, "e1");
        let body: Value = serde_json::from_slice(&sample.body).unwrap();
        assert_eq!(body.pointer("/data/0/id"), Some(&Value::from("e1")));
        assert_eq!(body.pointer("/type"), Some(&Value::from(SAMPLE_TYPE)));
        assert!(
            sample
                .headers
                .contains(&("x-part".to_owned(), "sample".to_owned()))
        );
    }
}

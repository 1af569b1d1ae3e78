//! Sample deliveries: a small realistic body and its headers, for a first event and for tests.
//!
//! The signature is not part of a sample; see [`crate::sign`].

mod alone;

pub use alone::alone;

use serde_json::{Map, Value};

use crate::catalogue::Provider;
use crate::delivery::Delivery;
pub use crate::id_shape::IdShape;
use crate::identity::{Field, FieldList, IdentityRule, Pointer, ValuePath};

/// The event type of samples for sources without a preset.
const SAMPLE_TYPE: &str = "hapax.sample";

/// A delivery without its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The event id.
    pub id: String,
    /// The headers, without those of the signature.
    pub headers: Vec<(String, String)>,
    /// The header with the sending time, if the provider does not sign it.
    pub time_header: Option<String>,
    /// The request body.
    pub body: Vec<u8>,
}

impl Sample {
    /// Converts the sample to a delivery, ready to be signed at this time in Unix seconds.
    pub fn delivery(mut self, timestamp: i64) -> Delivery {
        let sent_at = self.time_header.map(|name| (name, timestamp.to_string()));
        self.headers.extend(sent_at);
        Delivery {
            id: self.id,
            timestamp,
            headers: self.headers,
            body: self.body,
            ..Delivery::default()
        }
    }
}

/// A delivery as the provider sends it, with this id. The caller supplies new ids, such as from [`IdShape::fresh`].
pub fn of_provider(provider: &Provider, id: &str) -> Sample {
    let quoted = Value::from(id).to_string();
    let number = if IdShape::Digits.fits(id) { id } else { &quoted };
    let headers = provider
        .sample
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.replace("{id}", id)));
    Sample {
        id: id.to_owned(),
        headers: headers.collect(),
        time_header: provider.sample.time_header.clone(),
        // The template's placeholder is a whole JSON string, so that any id gives valid JSON; in XML it stands alone.
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

/// A delivery that a source's own rule identifies by this id. In a composite, the first part gets the id and the others
/// a fixed word.
pub fn of_rule(rule: &IdentityRule, id: &str) -> Sample {
    let mut draft = Draft {
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: Value::Object(Map::new()),
    };
    // The type goes first: if both have the same location, the id matters.
    if let Some(list) = &rule.event_type {
        draft.put_all(list.fields(), SAMPLE_TYPE);
    }
    let composite = rule.event_id.composites().first();
    let fields = composite.map(FieldList::fields).unwrap_or_default();
    draft.put_all(fields, id);
    let hashes_body = fields
        .iter()
        .flat_map(Field::paths)
        .any(|place| *place == ValuePath::BodySha256);
    if hashes_body {
        draft.put_in_body(&["id".to_owned()], id);
    }
    Sample {
        id: id.to_owned(),
        headers: draft.headers,
        time_header: None,
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
            match field.paths().first() {
                Some(ValuePath::Header(name)) => self.put_header(name, value),
                Some(ValuePath::Body(pointer)) => self.put_in_body(Pointer::tokens(pointer), value),
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
            // An object also works in place of an array: a pointer reads both.
            place = &mut place[token.as_str()];
        }
        *place = Value::from(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use crate::sign::{ProviderSigner, generate_secret};

    const NOW: i64 = 1_767_225_661;

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

    /// A signed delivery, ready to send.
    fn signed(provider: &str, id: &str) -> Delivery {
        let provider = catalogue::get(provider).unwrap();
        let (secret, options) = (generate_secret(provider, &[7; 32]), provider.sample_options());
        let signer = ProviderSigner::new(provider, &secret.signing, &options).unwrap();
        signer.sign(of_provider(provider, id).delivery(NOW))
    }

    fn header(delivery: &Delivery, name: &str) -> Option<String> {
        let found = delivery.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    #[test]
    fn fresh_ids_are_numbers_where_the_providers_libraries_read_numbers() {
        for (name, pointer) in [
            ("telegram", "/update_id"),
            ("woocommerce", "/id"),
            ("hubspot", "/0/eventId"),
        ] {
            let shape = catalogue::get(name).unwrap().sample.id;
            let body: Value = serde_json::from_slice(&signed(name, &shape.fresh(u128::MAX)).body).unwrap();
            assert!(body.pointer(pointer).unwrap().is_u64(), "{name}: {body}");
        }
        for name in ["discord", "asana", "lemonsqueezy"] {
            let shape = catalogue::get(name).unwrap().sample.id;
            assert!(shape.fits(&shape.fresh(7)) && !shape.fits("evt_1"), "{name}");
        }
    }

    /// The library shopify-api expects every header to begin with `X-Shopify-`.
    #[test]
    fn a_shopify_sample_has_all_its_headers_under_one_kind_of_name() {
        let delivery = signed("shopify", "1");
        assert!(header(&delivery, "x-shopify-hmac-sha256").is_some());
        assert!(
            delivery
                .headers
                .iter()
                .all(|(name, _)| !name.starts_with("shopify-"))
        );
    }

    /// Libraries for Sentry refuse a time that is too old, although it is not signed.
    #[test]
    fn a_sentry_sample_says_when_it_is_sent() {
        assert_eq!(
            header(&signed("sentry", "1"), "sentry-hook-timestamp"),
            Some(NOW.to_string())
        );
    }

    /// Libraries for SNS require the exact format of the time.
    #[test]
    fn an_sns_sample_has_milliseconds() {
        let body: Value = serde_json::from_slice(&signed("aws-sns", "1").body).unwrap();
        assert_eq!(body["Timestamp"], "2026-01-01T00:01:01.000Z");
    }

    /// Braintree's own libraries convert these lists to objects, and fail if they are missing.
    #[test]
    fn a_braintree_sample_has_the_lists_of_a_subscription() {
        let provider = catalogue::get("braintree").unwrap();
        let xml = String::from_utf8(of_provider(provider, "1").body).unwrap();
        for list in ["transactions", "add-ons", "discounts"] {
            assert!(xml.contains(&format!("<{list} type=\"array\"/>")), "{list}");
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

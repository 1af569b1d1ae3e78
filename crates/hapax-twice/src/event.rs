//! The events of a test: a body from a file or the provider's sample, and fresh deliveries made from it.
//!
//! Every plan works on events of its own: a fresh id is written where the provider's rule looks for it, in the body or in
//! a header. So plans do not disturb each other, and a test can run again on the same database. Where the text
//! `{{fresh}}` stands in a body, it becomes new letters for every fresh event, for handlers that
//! look at more than the event's id.

mod folder;
mod fresh;

pub(crate) use folder::read as read_folder;

use bytes::Bytes;
use hapax_verify::IdentityRule;
use hapax_verify::catalogue::Provider;
use hapax_verify::identity::Place;
use hapax_verify::sample::{self, IdShape};
use serde_json::{Map, Value};

use crate::sender::unix_seconds;

/// What becomes new letters in every fresh event.
const FRESH: &str = "{{fresh}}";

/// A kind of event, of which fresh ones are made.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) name: String,
    /// Headers besides the signature's; they go before the sample's.
    headers: Vec<(String, String)>,
    body: Body,
}

/// Where a body comes from.
#[derive(Debug, Clone)]
enum Body {
    /// The provider's sample, in whatever form that is.
    Sample,
    /// JSON.
    Text(String),
}

/// A fresh event, ready to be signed.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) id: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    /// What is its own in a snapshot, and the name to show instead.
    pub(crate) names: Vec<(String, String)>,
}

/// Why no delivery can be made from an event.
#[derive(Debug, thiserror::Error)]
pub enum EventProblem {
    /// The body is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// The folder or a file in it cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    /// There is too much of it.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// A folder without events.
    #[error("there is no file whose name ends with .json in it")]
    Empty,
    /// More than a test can go through.
    #[error("there are more than {0} events in it")]
    TooMany(usize),
    /// A line of a headers file.
    #[error("the line `{0}` is not a header; write NAME: VALUE")]
    Header(String),
    /// A receiver would not know it.
    #[error("a receiver would refuse it: {0}")]
    Refused(String),
}

impl Event {
    /// An event with this body. The body must be JSON.
    pub(crate) fn new(name: String, headers: Vec<(String, String)>, body: String) -> Self {
        Self {
            name,
            headers,
            body: Body::Text(body),
        }
    }

    /// The provider's sample.
    pub(crate) fn sample() -> Self {
        Self {
            name: "sample".to_owned(),
            headers: Vec::new(),
            body: Body::Sample,
        }
    }

    /// A fresh event of this kind.
    pub(crate) fn fresh(&self, provider: &Provider) -> Result<Delivery, EventProblem> {
        let letters = fresh::letters();
        let mut delivery = self.with_letters(provider, &letters)?;
        delivery.names.push((letters, "<fresh>".to_owned()));
        Ok(delivery)
    }

    /// Two fresh events about one thing: the `{{fresh}}` of both is the same.
    pub(crate) fn pair(&self, other: &Self, provider: &Provider) -> Result<[Delivery; 2], EventProblem> {
        let letters = fresh::letters();
        let mut one = self.with_letters(provider, &letters)?;
        let mut two = other.with_letters(provider, &letters)?;
        for (_, name) in &mut two.names {
            "<newer id>".clone_into(name);
        }
        one.names.push((letters, "<fresh>".to_owned()));
        Ok([one, two])
    }

    fn with_letters(&self, provider: &Provider, letters: &str) -> Result<Delivery, EventProblem> {
        let Body::Text(text) = &self.body else {
            return Ok(sample_delivery(provider));
        };
        let mut body: Value = serde_json::from_str(&text.replace(FRESH, letters))?;
        let place = id_place(&provider.identity);
        let id = fresh::like(self.known_id(place, &body).as_deref(), place);
        let mut headers = sample::of_provider(provider, &id)
            .delivery(unix_seconds())
            .headers;
        headers.retain(|(name, _)| !self.headers.iter().any(|(own, _)| own == name));
        headers.extend(self.headers.clone());
        match place {
            Some(Place::Header(name)) => {
                headers.retain(|(known, _)| known != name);
                headers.push((name.clone(), id.clone()));
            }
            Some(Place::Body(pointer)) => put(&mut body, pointer.tokens(), &id),
            // The body is the id, or it has none: anything that makes it another one will do.
            Some(_) | None => put(&mut body, &["id".to_owned()], &id),
        }
        Ok(Delivery {
            names: vec![(id.clone(), "<id>".to_owned())],
            id,
            headers,
            body: body.to_string().into(),
        })
    }

    fn known_id(&self, place: Option<&Place>, body: &Value) -> Option<String> {
        match place? {
            Place::Header(name) => {
                let found = self.headers.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone())
            }
            Place::Body(pointer) => match body.pointer(&pointer.to_string())? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            },
            _ => None,
        }
    }
}

/// A sample knows itself where its id belongs, be it in a form, a batch or a composite.
fn sample_delivery(provider: &Provider) -> Delivery {
    let id = match provider.sample.id {
        IdShape::Text => fresh::like(None, id_place(&provider.identity)),
        shape @ IdShape::Digits => shape.fresh(fastrand::u128(..)),
    };
    let sample = sample::of_provider(provider, &id).delivery(unix_seconds());
    Delivery {
        names: vec![(id.clone(), "<id>".to_owned())],
        id,
        headers: sample.headers,
        body: sample.body.into(),
    }
}

/// Where the fresh id goes: of a composite the first part, of alternatives the first one.
fn id_place(rule: &IdentityRule) -> Option<&Place> {
    rule.event_id.fields().next()?.places().first()
}

/// Writes the id. A number stays a number, so that a handler that expects one can read it.
fn put(body: &mut Value, tokens: &[String], id: &str) {
    let mut place = body;
    for token in tokens {
        let index = place.as_array().and_then(|items| {
            let index = token.parse::<usize>().ok();
            index.filter(|at| *at < items.len())
        });
        if index.is_none() && !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = match index {
            Some(at) => &mut place[at],
            None => &mut place[token.as_str()],
        };
    }
    *place = match (&*place, id.parse::<u64>()) {
        (Value::Number(_), Ok(number)) => number.into(),
        _ => id.into(),
    };
}

#[cfg(test)]
mod tests {
    use hapax_verify::catalogue;

    use super::*;

    #[test]
    fn every_fresh_event_has_an_id_of_its_own_in_its_place() {
        let stripe = catalogue::get("stripe").unwrap();
        let event = Event::new(
            "a".to_owned(),
            vec![],
            r#"{"id":"evt_1","x":"pi_{{fresh}}"}"#.to_owned(),
        );
        let (one, two) = (event.fresh(stripe).unwrap(), event.fresh(stripe).unwrap());
        assert_ne!((&one.id, &one.body), (&two.id, &two.body));
        let body: Value = serde_json::from_slice(&one.body).unwrap();
        assert_eq!(body["id"], one.id.as_str());
        assert!(one.id.starts_with("evt_"));
        assert!(!body["x"].as_str().unwrap().contains('{'));
    }

    #[test]
    fn the_id_of_a_sample_is_a_number_where_the_provider_sends_numbers() {
        let telegram = catalogue::get("telegram").unwrap();
        let delivery = Event::sample().fresh(telegram).unwrap();
        let body: Value = serde_json::from_slice(&delivery.body).unwrap();
        assert_eq!(body["update_id"].as_u64(), delivery.id.parse().ok());
    }

    #[test]
    fn an_id_in_a_header_and_headers_of_the_file_are_sent() {
        let github = catalogue::get("github").unwrap();
        let headers = vec![("x-github-event".to_owned(), "push".to_owned())];
        let delivery = Event::new("a".to_owned(), headers, "{}".to_owned())
            .fresh(github)
            .unwrap();
        let value = |name: &str| {
            let found: Vec<_> = delivery
                .headers
                .iter()
                .filter(|(known, _)| known == name)
                .collect();
            assert_eq!(found.len(), 1, "{name}");
            found[0].1.clone()
        };
        assert_eq!(value("x-github-delivery"), delivery.id);
        assert_eq!(value("x-github-event"), "push");
    }

    #[test]
    fn a_number_stays_a_number_and_a_place_that_is_missing_is_made() {
        let mut body = serde_json::json!({"items": [{"id": 4}], "text": 1});
        put(
            &mut body,
            &["items".to_owned(), "0".to_owned(), "id".to_owned()],
            "17",
        );
        put(&mut body, &["data".to_owned(), "id".to_owned()], "17");
        assert_eq!(
            body,
            serde_json::json!({"items": [{"id": 17}], "text": 1, "data": {"id": "17"}})
        );
    }
}

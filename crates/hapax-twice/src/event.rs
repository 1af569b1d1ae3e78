//! The events of a test: a body from a file or the provider's sample, and fresh deliveries made from it.
//!
//! Every plan uses its own events: a fresh id is written where the provider's rule looks for it, in the body, in each
//! event of a batch or in a header. A single event of a batch (`hapax events payload`) is sent in a batch of its own.
//! So plans do not interfere with each other, and a test can be repeated on the same database. The text `{{fresh}}` in
//! a body is replaced by new letters for every fresh event, for handlers that check more than the event's id.

mod fresh;
mod identity;

use bytes::Bytes;
use hapax_verify::catalogue::Provider;
use hapax_verify::identity::ValuePath;
use hapax_verify::sample::{self, IdShape};
use serde_json::Value;

use crate::clock::unix_seconds;

/// Replaced by new letters in every fresh event.
const FRESH: &str = "{{fresh}}";

/// A template from which fresh events are made.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) name: String,
    /// Headers in addition to those of the signature; they take precedence over the sample's.
    pub(crate) headers: Vec<(String, String)>,
    body: Body,
}

/// The source of a body.
#[derive(Debug, Clone)]
enum Body {
    /// The provider's sample, in any format.
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
    /// The values in a snapshot that belong to this event, and the names to show instead.
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
    /// It is too large.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// The folder contains no events.
    #[error("it contains no file whose name ends with .json")]
    Empty,
    /// The folder contains more events than a test can handle.
    #[error("it contains more than {0} events")]
    TooMany(usize),
    /// A line of a headers file is invalid.
    #[error("the line `{0}` is not a header; write NAME: VALUE")]
    Header(String),
    /// A receiver would refuse it.
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

    /// Two fresh events about the same thing: `{{fresh}}` is the same in both.
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
        let text = text.replace(FRESH, letters);
        let place = identity::place(provider);
        // A body that was taken out of a batch is sent in a batch of its own.
        let request = sample::alone(provider, &self.all_headers(provider, ""), text.as_bytes());
        let mut body: Value = serde_json::from_slice(&request)?;
        let ids: Vec<String> = if let Some(tokens) = identity::nested_place(provider, &body) {
            vec![renew(&mut body, &tokens)]
        } else {
            let events = identity::events(provider, &mut body).into_iter();
            events.map(|event| self.fresh_id(place, event)).collect()
        };
        let id = ids.first().cloned().unwrap_or_else(|| fresh::like(None, place));
        let mut headers = self.all_headers(provider, &id);
        if let Some(ValuePath::Header(name)) = place {
            headers.retain(|(known, _)| known != name);
            headers.push((name.clone(), id.clone()));
        }
        Ok(Delivery {
            names: ids.into_iter().map(|id| (id, "<id>".to_owned())).collect(),
            id,
            headers,
            body: body.to_string().into(),
        })
    }

    /// The headers of the file, and those of the sample that the file does not set.
    fn all_headers(&self, provider: &Provider, id: &str) -> Vec<(String, String)> {
        let mut headers = sample::of_provider(provider, id).delivery(unix_seconds()).headers;
        headers.retain(|(name, _)| !self.headers.iter().any(|(own, _)| own == name));
        headers.extend(self.headers.clone());
        headers
    }

    /// Gives an event an unused id, and returns it. The caller writes an id that belongs in a header.
    fn fresh_id(&self, place: Option<&ValuePath>, event: &mut Value) -> String {
        match place {
            Some(ValuePath::Header(name)) => {
                let known = self.headers.iter().find(|(known, _)| known == name);
                fresh::like(known.map(|(_, value)| value.as_str()), place)
            }
            Some(ValuePath::Body(pointer) | ValuePath::Flag(pointer)) => renew(event, pointer.tokens()),
            // The body is the id, or it has none: any change makes it a different event.
            Some(_) | None => renew(event, &["id".to_owned()]),
        }
    }
}

/// A sample knows where its id belongs, be it in a form, a batch or a composite.
fn sample_delivery(provider: &Provider) -> Delivery {
    let id = match provider.sample.id {
        IdShape::Text => fresh::like(None, identity::place(provider)),
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

/// Writes a fresh id in the format of the existing one.
fn renew(body: &mut Value, tokens: &[String]) -> String {
    let known = identity::text_at(body, tokens);
    let id = fresh::like(known.as_deref(), None);
    identity::put(body, tokens, &id);
    id
}

#[cfg(test)]
mod tests {
    use hapax_verify::sign::{self, ProviderSigner, generate_secret};
    use hapax_verify::{Request, Verification, Verifier, catalogue};

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

    /// The ids that a receiver reads from a delivery.
    fn ids_of(provider: &'static Provider, delivery: &Delivery) -> Vec<String> {
        let pair = generate_secret(provider, &[7; 32]);
        let options = provider.sample_options();
        let signed = ProviderSigner::new(provider, &pair.signing, &options)
            .unwrap()
            .sign(sign::Delivery {
                id: delivery.id.clone(),
                timestamp: unix_seconds(),
                url: "http://127.0.0.1/".to_owned(),
                headers: delivery.headers.clone(),
                body: delivery.body.to_vec(),
                ..sign::Delivery::default()
            });
        let verifier = Verifier::new(&provider.recipe(), &[pair.verifying], &options).unwrap();
        let request = Request::new(&signed.headers, &signed.body, unix_seconds()).url(&signed.url);
        match verifier.verify(&request) {
            Ok(Verification::Events(events)) => events.into_iter().map(|event| event.event_id).collect(),
            other => panic!("{}: {other:?}", provider.name),
        }
    }

    /// The output of `hapax events payload` for a provider's sample: the event as stored.
    fn payload(provider: &'static Provider) -> String {
        let mut body: Value = serde_json::from_slice(&sample::of_provider(provider, "7").body).unwrap();
        let mut events = identity::events(provider, &mut body);
        events.remove(0).to_string()
    }

    #[test]
    fn one_event_of_a_batch_makes_requests_with_an_id_of_their_own() {
        let with_split = catalogue::all()
            .iter()
            .filter(|provider| provider.identity.split.is_some());
        for provider in with_split {
            let event = Event::new("a".to_owned(), vec![], payload(provider));
            let ids = [(); 2].map(|()| ids_of(provider, &event.fresh(provider).unwrap()));
            assert!(ids.iter().all(|ids| ids.len() == 1), "{}: {ids:?}", provider.name);
            assert_ne!(ids[0], ids[1], "{}", provider.name);
        }
    }

    #[test]
    fn every_event_of_a_batch_gets_an_id_of_its_own_and_nothing_else_is_changed() {
        let asana = catalogue::get("asana").unwrap();
        let body = r#"{"events":[{"action":"added","resource":{"gid":"1"}},{"action":"added","resource":{"gid":"1"}}]}"#;
        let delivery = Event::new("a".to_owned(), vec![], body.to_owned())
            .fresh(asana)
            .unwrap();
        let ids = ids_of(asana, &delivery);
        assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
        let body: Value = serde_json::from_slice(&delivery.body).unwrap();
        assert_eq!(body["events"][0]["action"], "added");
    }
}

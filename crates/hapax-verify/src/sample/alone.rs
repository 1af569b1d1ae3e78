//! Turns one event of a batch into a request of its own: the reverse of [`Split`].

use std::borrow::Cow;

use serde_json::Value;

use super::of_provider;
use crate::catalogue::Provider;
use crate::identity::{Pointer, Pointers, Split, has_content_type};
use crate::request::Headers;

/// The body of a request that contains only this event, as the provider would send it.
///
/// An item of a batch is inserted, byte for byte, into the batch of the provider's sample, replacing the sample's own
/// events: the original batch is not stored with an event. A body that is already a complete request is returned
/// unchanged.
pub fn alone<'event>(provider: &Provider, headers: &dyn Headers, event: &'event [u8]) -> Cow<'event, [u8]> {
    in_batch(provider, headers, event).map_or(Cow::Borrowed(event), Cow::Owned)
}

/// The batch around the event; `None` if it needs none.
fn in_batch(provider: &Provider, headers: &dyn Headers, event: &[u8]) -> Option<Vec<u8>> {
    let Some(Split::Array {
        at,
        optional,
        content_type,
        event_content_type: _,
    }) = &provider.identity.split
    else {
        // Events from nested arrays are already complete requests.
        return None;
    };
    if content_type
        .as_deref()
        .is_some_and(|batch| !has_content_type(headers, batch))
    {
        return None;
    }
    let item: Value = serde_json::from_slice(event).ok()?;
    let is_batch = item.pointer(&at.to_string()).is_some_and(Value::is_array);
    if is_batch || !item.is_object() {
        return None;
    }
    let sample = of_provider(provider, "sample").body;
    if *optional && !resembles(&sample, at, &item) {
        return None;
    }
    let array = [&b"["[..], event, b"]"].concat();
    if at.tokens().is_empty() {
        return Some(array);
    }
    let mut pointers = Pointers::default();
    let slot = pointers.add(at).ok()?;
    let place = pointers.extract(&sample).ok()?.range(slot, &sample)?;
    let mut request = sample;
    request.splice(place, array);
    Some(request)
}

/// Whether it looks like the events of the sample. Providers with optional batches also send other bodies, which are
/// already complete.
fn resembles(sample: &[u8], at: &Pointer, item: &Value) -> bool {
    let sample: Option<Value> = serde_json::from_slice(sample).ok();
    let first = sample
        .as_ref()
        .and_then(|sample| sample.pointer(&format!("{at}/0")));
    let mut keys = first
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|first| first.keys());
    keys.any(|key| item.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::ValuePath;
    use crate::sign::{Delivery, ProviderSigner, generate_secret};
    use crate::{Envelope, Field, Options, Request, Verification, Verifier, catalogue};

    const NOW: i64 = 1_767_225_600;

    /// A provider with both halves of a secret.
    struct Both {
        provider: &'static Provider,
        signer: ProviderSigner,
        verifier: Verifier,
    }

    impl Both {
        fn of(provider: &'static Provider) -> Self {
            let pair = generate_secret(provider, &[7; 32]);
            let options: Options = provider.sample_options();
            Both {
                provider,
                signer: ProviderSigner::new(provider, &pair.signing, &options).unwrap(),
                verifier: Verifier::new(&provider.recipe(), &[pair.verifying], &options).unwrap(),
            }
        }

        /// The events that a receiver reads from a body, each with its own bytes.
        fn events(&self, headers: &[(String, String)], body: Vec<u8>, at: i64) -> Vec<(Envelope, Vec<u8>)> {
            let signed = self.signer.sign(Delivery {
                timestamp: at,
                url: "https://hooks.example.com/in/source".to_owned(),
                headers: headers.to_vec(),
                body,
                ..Delivery::default()
            });
            let request = Request::new(&signed.headers, &signed.body, at).url(&signed.url);
            let verification = self.verifier.verify(&request);
            let Ok(Verification::Events(events)) = verification else {
                panic!("{}: {verification:?}", self.provider.name);
            };
            let bytes = |event: &Envelope| event.body.of(&signed.body).into_owned();
            events
                .into_iter()
                .map(|event| (event.clone(), bytes(&event)))
                .collect()
        }
    }

    /// Two samples in one request.
    fn batch_of_two(provider: &Provider) -> (Vec<(String, String)>, Vec<u8>) {
        let [first, second] = ["1000000000000001", "1000000000000002"].map(|id| of_provider(provider, id));
        let json = |body: &[u8]| -> Value { serde_json::from_slice(body).unwrap() };
        let (mut body, more) = (json(&first.body), json(&second.body));
        let mut headers = first.headers;
        let at = match provider.identity.split.as_ref().unwrap() {
            Split::Array { at, content_type, .. } => {
                if let Some(content_type) = content_type {
                    headers = vec![("content-type".to_owned(), content_type.clone())];
                    body = Value::Array(vec![body]);
                }
                at.to_string()
            }
            Split::Nested(events) => {
                let text = events[0].at.to_string();
                text[..text.find("/*").unwrap()].to_owned()
            }
        };
        let items = match more.pointer(&at) {
            Some(Value::Array(items)) => items.clone(),
            _ => vec![more],
        };
        body.pointer_mut(&at)
            .unwrap()
            .as_array_mut()
            .unwrap()
            .extend(items);
        (headers, body.to_string().into_bytes())
    }

    fn with_split() -> impl Iterator<Item = &'static Provider> {
        catalogue::all()
            .iter()
            .filter(|provider| provider.identity.split.is_some())
    }

    #[test]
    fn every_event_of_every_batch_is_the_same_event_alone() {
        assert!(with_split().count() >= 12);
        for provider in with_split() {
            let both = Both::of(provider);
            let (headers, batch) = batch_of_two(provider);
            let events = both.events(&headers, batch, NOW);
            assert_eq!(events.len(), 2, "{}", provider.name);
            for (event, bytes) in events {
                let body = alone(provider, &headers, &bytes).into_owned();
                assert_eq!(
                    alone(provider, &headers, &body),
                    body,
                    "{}: it is a request now",
                    provider.name
                );
                // Later, as an export is.
                let [(again, own)] = &both.events(&headers, body, NOW + 86_400)[..] else {
                    panic!("{}: it is not alone", provider.name);
                };
                assert_eq!(*own, bytes, "{}", provider.name);
                assert_eq!(again.content_hash, event.content_hash, "{}", provider.name);
                assert!(again.batch_index == Some(0), "{}", provider.name);
                // An id that is a hash of the original request (Pusher) cannot be reproduced.
                let is_same = again.event_id == event.event_id;
                let paths = provider.identity.event_id.fields().flat_map(Field::paths);
                let is_of_request = paths.into_iter().any(|place| *place == ValuePath::RequestSha256);
                assert_eq!(is_same, !is_of_request, "{}", provider.name);
            }
        }
    }

    #[test]
    fn what_surrounds_an_event_is_the_samples() {
        let body = |provider: &str, event: &str| {
            let headers = [("content-type", "application/json")];
            let provider = catalogue::get(provider).unwrap();
            String::from_utf8(alone(provider, &headers, event.as_bytes()).into_owned()).unwrap()
        };
        assert_eq!(
            body("line", r#"{ "type":"x" }"#),
            r#"{"destination":"U0","events":[{ "type":"x" }]}"#
        );
        assert_eq!(body("hubspot", r#"{"eventId":1}"#), r#"[{"eventId":1}]"#);
        // Adyen's platform webhooks are already complete, and so is an event with its own content type.
        for (provider, whole) in [
            ("adyen", r#"{"type":"balancePlatform.payout.created"}"#),
            ("cloudevents", r#"{"id":"1"}"#),
            ("stripe", r#"{"id":"evt_1"}"#),
            ("asana", r#"{"events":[]}"#),
            ("asana", "no json"),
        ] {
            assert_eq!(body(provider, whole), whole, "{provider}");
        }
    }
}

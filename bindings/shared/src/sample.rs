//! Signed sample deliveries, for tests. Each is received once before it is returned: a sample that its own source would
//! refuse helps nobody.

use hapax::webhook;
use hapax_verify::sign;

use crate::received::{Event, Received};
use crate::source::{KeyMap, RequestHead, Source};
use crate::{Error, headers};

/// What a sample should be.
#[derive(Clone, Debug, Default)]
pub struct SampleSettings {
    /// The event type, if the provider's sample has another.
    pub event_type: Option<String>,
    /// The event id; a new one if it is left out.
    pub event_id: Option<String>,
    /// The body, if it is not the provider's sample.
    pub body: Option<Vec<u8>>,
    /// When it is signed, in Unix seconds; now if it is left out.
    pub now: Option<i64>,
}

/// A signed delivery, ready to send.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The HTTP method.
    pub method: String,
    /// The path and query to call.
    pub path_query: String,
    /// The request headers.
    pub headers: Vec<(String, String)>,
    /// The request body.
    pub body: Vec<u8>,
    /// The id under which the source will know the event.
    pub event_id: String,
}

impl Source {
    /// A delivery as the provider would sign it.
    pub fn sample(&self, settings: &SampleSettings) -> Result<Delivery, Error> {
        let signer = self.signing.signer()?;
        let at = settings.now.unwrap_or_else(|| webhook::now().as_seconds());
        let id = self.sample_id(settings)?;
        let mut draft = self.signing.unsigned(&id, at);
        if let Some(body) = &settings.body {
            draft.body = self.signing.request_of(&draft.headers, body);
        }
        let mut delivery = signer.sign(draft.clone());
        let mut event = self.read_back(&delivery, at)?;
        if let (Some(wanted), Some(first)) = (&settings.event_type, &event)
            && first.event_type.as_ref() != Some(wanted)
        {
            let body = first.body.as_ref().unwrap_or(&delivery.body);
            self.set_type(&mut draft, body, wanted)?;
            delivery = signer.sign(draft);
            event = self.read_back(&delivery, at)?;
            if event.as_ref().and_then(|event| event.event_type.as_ref()) != Some(wanted) {
                return Err(cannot_have(wanted));
            }
        }
        let event_id = event.map_or(id, |event| event.event_id);
        check_id(settings, &event_id)?;
        Ok(Delivery {
            path_query: path_query(&delivery.url),
            method: delivery.method,
            headers: delivery.headers,
            body: delivery.body,
            event_id,
        })
    }

    fn sample_id(&self, settings: &SampleSettings) -> Result<String, Error> {
        let Some(id) = &settings.event_id else {
            return Ok(self.signing.fresh_id());
        };
        if settings.body.is_none() && !self.signing.id_shape().fits(id) {
            return Err(Error::invalid(format!(
                "`{id}` is not an id that this provider would send: its ids are whole numbers, such as 42"
            )));
        }
        Ok(id.clone())
    }

    fn set_type(&self, draft: &mut sign::Delivery, event: &[u8], wanted: &str) -> Result<(), Error> {
        let event = self.signing.set_type(draft, event, wanted);
        let event = event.ok_or_else(|| cannot_have(wanted))?;
        draft.body = self.signing.request_of(&draft.headers, &event);
        Ok(())
    }

    /// The first event of the delivery, as this source will see it; `None` if it needs a key that is not known here.
    fn read_back(&self, delivery: &sign::Delivery, at: i64) -> Result<Option<Event>, Error> {
        let (_, query) = delivery.url.split_once('?').unwrap_or_default();
        let head = RequestHead {
            method: delivery.method.clone(),
            query: query.to_owned(),
            headers: headers(delivery.headers.iter().map(|(name, value)| (name, value))),
            now: Some(at),
        };
        let received: Received = self.receive(&head, &delivery.body, KeyMap::new());
        match (received.events, received.error) {
            (Some(events), _) => Ok(events.into_iter().next()),
            (None, Some(refusal)) if refusal.needs_key.is_none() => Err(Error::setup(format!(
                "the source would refuse its own sample: {}; if its secrets only verify, pass `signing_secret`, the private \
                 half",
                refusal.message
            ))),
            (None, _) => Ok(None),
        }
    }
}

/// In a sample, the id is already in place; in the caller's own body, the body decides.
fn check_id(settings: &SampleSettings, event_id: &str) -> Result<(), Error> {
    match (&settings.body, &settings.event_id) {
        (Some(_), Some(wanted)) if !event_id.contains(wanted.as_str()) => Err(Error::invalid(format!(
            "the id is in the body and is `{event_id}` there; change the body, or leave out the event id"
        ))),
        _ => Ok(()),
    }
}

fn cannot_have(wanted: &str) -> Error {
    Error::invalid(format!(
        "the sample of this provider cannot have the type `{wanted}`; pass a body of that type"
    ))
}

/// The path and query of a URL.
fn path_query(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let start = rest.find(['/', '?']).unwrap_or(rest.len());
    match rest.get(start..).unwrap_or_default() {
        path if path.starts_with('/') => path.to_owned(),
        query => format!("/{query}"),
    }
}

//! Turns a request into verified events. No I/O: the framework has read the request.

use std::borrow::Cow;

use bytes::Bytes;
use hapax_core::{BodyHash, GENERATED, Random as _, SystemRandom, Timestamp};
use hapax_verify::diagnose::Mistake;
use hapax_verify::{Envelope, EventBody, Identification, Request, Verification};

use super::source::Caller;
use super::via_hapax::{KeysDiffer, ViaHapax};
use super::{Head, Reason, Refused, Source, Webhook};
use crate::event::Event;

impl Source {
    /// The verified events of a request, in the order of its body; empty only for providers whose batches may be empty.
    ///
    /// `body` is the raw body, byte for byte. `received_at` is the time when the head arrived: a slow body must not make
    /// a fresh signature stale.
    pub fn receive<'r>(
        &self,
        head: impl Into<Head<'r>>,
        body: &Bytes,
        received_at: Timestamp,
    ) -> Result<Vec<Webhook>, Refused> {
        let head = head.into();
        self.events(head, body, received_at)
            .map_err(|reason| self.refused(reason))
    }

    /// The likely mistake behind a refused request, for logs and never for the client: a body that was parsed and
    /// serialised again, a secret with a line break. It costs a few hundred verifications at most, so limit how often
    /// strangers can cause it.
    pub fn explain<'r>(
        &self,
        head: impl Into<Head<'r>>,
        body: &[u8],
        received_at: Timestamp,
    ) -> Option<Mistake> {
        let head = head.into();
        let url = self.url_of(head);
        self.verifier
            .diagnose(&self.request(head, &url, body, received_at), &[])
    }

    fn events(&self, head: Head<'_>, body: &Bytes, received_at: Timestamp) -> Result<Vec<Webhook>, Reason> {
        let url = self.url_of(head);
        let request = self.request(head, &url, body, received_at);
        let envelopes = match self.verifier.verify(&request)? {
            Verification::Events(envelopes) => envelopes,
            Verification::Handshake(answer) => return Err(Reason::Handshake(answer)),
            Verification::Registration(_) => return Err(Reason::Registration),
            Verification::Confirmation(asked) => return Err(Reason::Confirmation(Box::new(asked))),
            Verification::NeedsKey(key) => return Err(Reason::NeedsKey(Box::new(key))),
        };
        // A request that only probes the URL is not a delivery, whatever it contains.
        if !self.verifier.delivers_by(head.method) {
            return Err(Reason::Method(head.method.to_owned()));
        }
        let via_hapax = match self.caller {
            Caller::Provider => None,
            Caller::Gateway => Some(ViaHapax::of(head.headers).map_err(|KeysDiffer| Reason::KeysDiffer)?),
        };
        let body = match head.method {
            // The form in the query is the body.
            "GET" => Bytes::copy_from_slice(request.content()),
            _ => body.clone(),
        };
        let event = |envelope: Envelope| -> Result<Webhook, Reason> {
            let body = part(&body, &envelope.body);
            Ok(Webhook {
                event: self.event(&envelope, &body)?,
                event_type: match &via_hapax {
                    None => envelope.event_type,
                    Some(via) => via.event_type.clone(),
                },
                received_at,
                signed_at: envelope.signed_at,
                secret_index: envelope.secret_index,
                headers: head.headers.clone(),
                body,
                batch_index: envelope.batch_index,
                via_hapax: via_hapax.clone(),
            })
        };
        envelopes.into_iter().map(event).collect()
    }

    fn request<'a>(&'a self, head: Head<'a>, url: &'a str, body: &'a [u8], at: Timestamp) -> Request<'a> {
        Request::new(head.headers, body, at.as_seconds())
            .method(head.method)
            .url(url)
            .query(head.query)
            .keys(&*self.keys)
    }

    /// The URL that the provider called.
    fn url_of(&self, head: Head<'_>) -> Cow<'_, str> {
        if self.url.is_empty() || self.url.contains('?') || head.query.is_empty() {
            return Cow::Borrowed(&self.url);
        }
        Cow::Owned(format!("{}?{}", self.url, head.query))
    }

    fn event(&self, envelope: &Envelope, body: &[u8]) -> Result<Event, Reason> {
        let event_id = match envelope.identification {
            // One of several events, without an id: its bytes identify it.
            Identification::ByProvider | Identification::Missing => envelope.event_id.clone(),
            Identification::Never => generated(),
        };
        let event = Event::new(&*self.name, event_id)?;
        let event = match &envelope.content_hash {
            None => event.with_body(body),
            // The provider changes the body between attempts: a hash of the whole body would report duplicates as
            // conflicts.
            Some(content) => event.with_body_hash(BodyHash::from_bytes(content.hash)),
        };
        match &envelope.transmission {
            None => Ok(event),
            Some(transmission) => Ok(event.sent_in(&transmission.id, body)?),
        }
    }
}

/// The bytes of one event.
fn part(body: &Bytes, of: &EventBody) -> Bytes {
    match of {
        EventBody::Whole => body.clone(),
        EventBody::Part(range) => body.slice(range.clone()),
        EventBody::Pieces(ranges) => ranges
            .iter()
            .flat_map(|range| body.slice(range.clone()))
            .collect(),
    }
}

fn generated() -> String {
    let random = SystemRandom::new();
    format!("{GENERATED}{:016x}{:016x}", random.next_u64(), random.next_u64())
}

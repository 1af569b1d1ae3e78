//! From a verified request to the engine's input: the id, the body and the batch position of each event.

use std::iter;

use bytes::Bytes;
use hapax_core::{BodyHash, ContentHash, ERASED, EventId, GENERATED, Headers, Identity, Timestamp};
use hapax_engine::IncomingEvent;
use hapax_telemetry::traces::context;
use hapax_verify::{Envelope, EventBody, Identification, Verifier};
use http::Method;
use http::request::Parts;

use super::{Inner, Source};

impl Inner {
    pub(super) fn arrivals(
        &self,
        source: &Source,
        envelopes: Vec<Envelope>,
        received_at: Timestamp,
        headers: Headers,
        body: Bytes,
    ) -> Vec<IncomingEvent> {
        let mut batch_id = None;
        let looks_back = source.earlier_ids_until.is_some_and(|until| received_at < until);
        // The last event takes the originals: a request with one event, as most have, copies nothing.
        let contents = iter::repeat_n((headers, body), envelopes.len());
        envelopes
            .into_iter()
            .zip(contents)
            .map(|(envelope, (headers, body))| {
                let event_id = match envelope.identification {
                    Identification::ByProvider | Identification::Missing => envelope.event_id,
                    Identification::Never => format!(
                        "{GENERATED}{}",
                        self.fresh_id(source, &envelope.event_id, received_at)
                    ),
                };
                let batch = envelope.batch_index.map(|index| {
                    let id = *batch_id.get_or_insert_with(|| self.fresh_id(source, &event_id, received_at));
                    (id, index)
                });
                IncomingEvent {
                    source: source.name.clone(),
                    event_id,
                    earlier_id: envelope.earlier_id.filter(|_| looks_back),
                    event_type: envelope.event_type,
                    signed_at: envelope.signed_at.map(Timestamp::from_seconds),
                    secret_index: envelope.secret_index.and_then(|index| u16::try_from(index).ok()),
                    received_at,
                    headers,
                    body: match envelope.body {
                        EventBody::Whole => body,
                        EventBody::Part(range) => body.slice(range),
                        EventBody::Pieces(ranges) => {
                            ranges.into_iter().flat_map(|range| body.slice(range)).collect()
                        }
                    },
                    content_hash: envelope.content_hash.map(|content| ContentHash {
                        rule: content.rule,
                        hash: BodyHash::from_bytes(content.hash),
                    }),
                    batch,
                }
            })
            .collect()
    }

    fn fresh_id(&self, source: &Source, event_id: &str, now: Timestamp) -> EventId {
        let key = Identity::new(source.name.as_str(), event_id).key();
        self.ids.next(now, key, &*self.random)
    }
}

/// The parts of a request that are stored and sent to destinations, without any credentials. For a GET, the form in the
/// query becomes the body.
pub(super) fn content(verifier: &Verifier, head: &Parts, body: Bytes) -> (Headers, Bytes) {
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
    let headers = headers.filter(|(name, _)| !verifier.is_credential(name) && *name != ERASED);
    if head.method != Method::GET {
        return (Headers::pack(headers), body);
    }
    let form = ("content-type", "application/x-www-form-urlencoded".as_bytes());
    let query = head.uri.query().unwrap_or_default();
    let headers = headers.filter(|(name, _)| *name != form.0);
    (
        Headers::pack(headers.chain([form])),
        Bytes::copy_from_slice(query.as_bytes()),
    )
}

/// Of the headers, only the one that names the provider's trace.
pub(super) fn trace_headers(head: &Parts) -> Headers {
    match head.headers.get(context::TRACEPARENT) {
        Some(value) => Headers::pack([(context::TRACEPARENT, value.as_bytes())]),
        None => Headers::default(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_event_without_an_id_is_one_that_the_engine_keeps_aside() {
        let event_id = format!("{}00ff", hapax_verify::identity::UNIDENTIFIED);
        assert!(hapax_core::is_set_aside(&event_id));
        assert!(!hapax_core::is_set_aside("evt_1"));
    }
}

//! Turns a request into verified events.

use std::error::Error as StdError;
use std::sync::Arc;

use axum_core::body::Body;
use bytes::Bytes;
use hapax_core::{BodyHash, Clock as _, GENERATED, Random as _, SystemClock, SystemRandom, Timestamp};
use hapax_verify::{AnswerRule, Envelope, EventBody, Identification, Rejection, Request, Verification};
use http::Method;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::{Refused, Source, Webhook};
use crate::event::Event;
use crate::limits::BODY_TIMEOUT;

/// The events of a request, in the order of its body.
pub(super) async fn receive(source: &Source, head: &Parts, body: Body) -> Result<Vec<Webhook>, Refused> {
    // The arrival time is that of the headers: a slow body must not make a fresh signature stale.
    let received_at = SystemClock::default().now();
    let body = read(body, source.body_bytes_max).await?;
    let request = Request::new(&head.headers, &body, received_at.as_seconds())
        .method(head.method.as_str())
        .url(&source.url)
        .query(head.uri.query().unwrap_or_default());
    match source
        .verifier
        .verify(&request)
        .map_err(|rejection| refused(source, rejection))?
    {
        Verification::Events(envelopes) => {
            let body = match head.method {
                // For a GET request, the form in the query is the body.
                Method::GET => Bytes::copy_from_slice(request.content()),
                _ => body.clone(),
            };
            let events = envelopes.into_iter();
            events
                .map(|envelope| webhook(source, head, &body, received_at, envelope))
                .collect()
        }
        Verification::Handshake(answer) => Err(Refused::Handshake(answer)),
        Verification::Registration(_) | Verification::Confirmation(_) | Verification::NeedsKey(_) => {
            Err(Refused::KeyUnknown)
        }
    }
}

fn refused(source: &Source, rejection: Rejection) -> Refused {
    if *source.answer == AnswerRule::default() {
        return Refused::Rejected(rejection);
    }
    Refused::Insisted {
        rejection,
        answer: Arc::clone(&source.answer),
    }
}

async fn read(body: Body, bytes_max: usize) -> Result<Bytes, Refused> {
    let reading = Limited::new(body, bytes_max).collect();
    match tokio::time::timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if is_too_large(&*error) => Err(Refused::TooLarge { bytes_max }),
        Ok(Err(_)) => Err(Refused::Incomplete),
        Err(_) => Err(Refused::TooSlow(BODY_TIMEOUT)),
    }
}

/// Exceeded either our limit or one that the router has set.
fn is_too_large(error: &(dyn StdError + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<LengthLimitError>() {
            return true;
        }
        next = error.source();
    }
    false
}

fn webhook(
    source: &Source,
    head: &Parts,
    body: &Bytes,
    received_at: Timestamp,
    envelope: Envelope,
) -> Result<Webhook, Refused> {
    let body = match envelope.body {
        EventBody::Whole => body.clone(),
        EventBody::Part(range) => body.slice(range),
        EventBody::Pieces(ranges) => ranges.into_iter().flat_map(|range| body.slice(range)).collect(),
    };
    let event_id = match envelope.identification {
        // One of several events, without an id: its bytes identify it.
        Identification::ByProvider | Identification::Missing => envelope.event_id,
        Identification::Never => generated(),
    };
    let event = Event::new(&*source.name, event_id)?;
    let event = match envelope.content_hash {
        None => event.with_body(&body),
        // The provider changes the body between attempts: a hash of the whole body would report duplicates as
        // conflicts.
        Some(content) => event.with_body_hash(BodyHash::from_bytes(content.hash)),
    };
    Ok(Webhook {
        event,
        event_type: envelope.event_type,
        received_at,
        signed_at: envelope.signed_at,
        secret_index: envelope.secret_index,
        headers: head.headers.clone(),
        body,
        batch_index: envelope.batch_index,
    })
}

fn generated() -> String {
    let random = SystemRandom::new();
    format!("{GENERATED}{:016x}{:016x}", random.next_u64(), random.next_u64())
}

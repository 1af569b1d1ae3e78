//! The result of receiving a request, as plain values.

use bytes::Bytes;
use hapax::answer::Answer;
use hapax::webhook::{Reason, Refused, Webhook};
use hapax_verify::KeyKind;

pub use hapax::webhook::ViaHapax;

/// Events, a handshake (`reply` alone), or a refusal (`reply` and `error`).
#[derive(Debug, Default)]
pub struct Received {
    /// The verified events.
    pub events: Option<Vec<Event>>,
    /// The response, if there are no events.
    pub reply: Option<Reply>,
    /// Why the request is refused.
    pub error: Option<Refusal>,
}

/// A verified event.
#[derive(Debug)]
pub struct Event {
    /// The scope in which its id is unique.
    pub source: String,
    /// The provider's id.
    pub event_id: String,
    /// The provider's event type.
    pub event_type: Option<String>,
    /// The raw body; `None` if it is the whole body of the request, which the caller has.
    pub body: Option<Vec<u8>>,
    /// The hash that tells a duplicate from a conflict.
    pub body_hash: Option<[u8; 32]>,
    /// How often the event was deliberately accepted again.
    pub generation: u32,
    /// When the request arrived, in Unix seconds.
    pub received_at: i64,
    /// The signed time, in Unix seconds.
    pub signed_at: Option<i64>,
    /// The index of the secret that matched.
    pub secret_index: Option<u32>,
    /// The position inside a batch.
    pub batch_index: Option<u32>,
    /// What the gateway says about the delivery.
    pub via_hapax: Option<ViaHapax>,
    /// The event id and the body hash of a row to claim first.
    pub binding: Option<(String, [u8; 32])>,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with lower-case names.
    pub headers: Vec<(String, String)>,
    /// The response body.
    pub body: Vec<u8>,
}

/// Why a request is not an event.
#[derive(Debug)]
pub struct Refusal {
    /// The problem code.
    pub code: &'static str,
    /// What happened, why, and what to do.
    pub message: String,
    /// What the code means.
    pub hint: &'static str,
    /// The key that has to be fetched first.
    pub needs_key: Option<KeyRequest>,
    /// The URL that has to be called first.
    pub confirmation: Option<Confirmation>,
}

/// A key to fetch.
pub struct KeyRequest {
    /// Its URL, already checked against the provider's hosts.
    pub url: String,
    /// The name under which it is passed to `receive`.
    pub key_id: String,
    /// What is asked for: `published`, `token` or `answer`.
    pub kind: &'static str,
    /// The headers of the request for it, which may contain credentials.
    pub headers: Vec<(String, String)>,
    /// The body to POST; `None` is a GET.
    pub body: Option<Vec<u8>>,
    /// A string that every valid response contains.
    pub expects: &'static str,
}

/// A URL to call, and the response to send after that.
#[derive(Debug)]
pub struct Confirmation {
    /// The URL, already checked against the provider's hosts.
    pub url: String,
    /// The response for the provider.
    pub reply: Reply,
}

impl std::fmt::Debug for KeyRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The request is omitted on purpose: it may contain credentials.
        formatter
            .debug_struct("KeyRequest")
            .field("url", &self.url)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

impl Received {
    pub(crate) fn of(received: Result<Vec<Webhook>, Refused>, request_body: &Bytes) -> Self {
        let event = |webhook: Webhook| Event::of(&webhook, request_body);
        match received {
            Ok(events) => Self {
                events: Some(events.into_iter().map(event).collect()),
                ..Self::default()
            },
            Err(refused) => Self {
                reply: Some(refused.answer().into()),
                error: Refusal::of(refused),
                ..Self::default()
            },
        }
    }
}

impl Event {
    fn of(webhook: &Webhook, request_body: &Bytes) -> Self {
        let event = webhook.event();
        let transmission = event.transmission();
        Self {
            source: event.source().to_owned(),
            event_id: event.event_id().to_owned(),
            event_type: webhook.event_type().map(str::to_owned),
            body: (webhook.body() != request_body).then(|| webhook.body().to_vec()),
            body_hash: event.body_hash().map(|hash| *hash.as_bytes()),
            generation: event.generation().0,
            received_at: webhook.received_at().as_seconds(),
            signed_at: webhook.signed_at(),
            secret_index: webhook.secret_index().and_then(|index| u32::try_from(index).ok()),
            batch_index: webhook.batch_index(),
            via_hapax: webhook.via_hapax().cloned(),
            binding: transmission.map(|sent| (sent.row_id.clone(), *sent.body_hash.as_bytes())),
        }
    }
}

impl Refusal {
    /// `None` for a handshake, which is not a failure.
    fn of(refused: Refused) -> Option<Self> {
        let (code, message) = (refused.code()?, refused.to_string());
        let (needs_key, confirmation) = match refused.reason {
            Reason::NeedsKey(key) => (Some(KeyRequest::from(*key)), None),
            Reason::Confirmation(asked) => (
                None,
                Some(Confirmation {
                    url: asked.url,
                    reply: Answer::from(asked.answer).into(),
                }),
            ),
            _ => (None, None),
        };
        Some(Self {
            code: code.as_str(),
            message,
            hint: code.meaning(),
            needs_key,
            confirmation,
        })
    }
}

impl From<hapax_verify::KeyRequest> for KeyRequest {
    fn from(key: hapax_verify::KeyRequest) -> Self {
        let kind = match key.kind {
            KeyKind::Published => "published",
            KeyKind::Token => "token",
            KeyKind::Answer => "answer",
        };
        let mut headers = Vec::new();
        let body = key.question.map(|question| {
            headers.push(("content-type".to_owned(), question.content_type.to_owned()));
            headers.extend(
                question
                    .authorization
                    .map(|authorization| ("authorization".to_owned(), authorization)),
            );
            question.body
        });
        Self {
            url: key.url,
            key_id: key.key_id,
            kind,
            headers,
            body,
            expects: key.expects,
        }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self {
            status: answer.status,
            headers: answer.headers,
            body: answer.body,
        }
    }
}

//! The result of verifying a request: one or more events, a handshake to answer, or a key that must be fetched first.

use std::borrow::Cow;
use std::ops::Range;

use crate::keys::KeyRequest;

/// The result of a request that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// Verified events, in the order of the body. Empty only for providers whose batches may be empty.
    Events(Vec<Envelope>),
    /// A handshake that the provider performs before it delivers events: send the response, and store nothing.
    Handshake(HandshakeAnswer),
    /// The provider sends the secret that it will sign with. Anyone could do that: it counts only for a registration
    /// that the operator opened, and the response may be sent only after the secret is stored durably.
    Registration(Registration),
    /// A URL of the provider must be called before the response is sent.
    Confirmation(Confirmation),
    /// The signature can be verified only with a key that must be fetched first.
    NeedsKey(KeyRequest),
}

/// One verified event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The provider's own id of the event, in the text form described at [`crate::identity`].
    pub event_id: String,
    /// The id that the previous version of the rule gives the event, if it is different.
    pub earlier_id: Option<String>,
    /// The provider's event type, if it has one.
    pub event_type: Option<String>,
    /// The signed timestamp, in Unix seconds.
    pub signed_at: Option<i64>,
    /// The transmission, if the provider signs that instead of the body: the caller must remember the first body that
    /// came with it, and refuse any other.
    pub transmission: Option<Transmission>,
    /// The index of the verifier's secret that matched, counted from 0.
    pub secret_index: Option<usize>,
    /// Whether the signature covers the id. If it does not, an attacker can replay an old body under a new id.
    pub id_is_signed: bool,
    /// What `event_id` guarantees.
    pub identification: Identification,
    /// The body that destinations receive.
    pub body: EventBody,
    /// The hash of the event's content, if it is not the hash of its body.
    pub content_hash: Option<ContentHash>,
    /// SHA-256 of the body, if it was computed together with the hash of the content.
    pub raw_hash: Option<[u8; 32]>,
    /// The position inside a batch, counted from 0; `None` for a request with one event.
    pub batch_index: Option<u32>,
}

/// A signed transmission that stands for one body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmission {
    /// Its signed id.
    pub id: String,
    /// The end of its validity, in Unix seconds: after that, nothing is accepted under its signature.
    pub valid_until: i64,
}

/// What an event's id guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identification {
    /// It is the provider's, and the same in every attempt.
    ByProvider,
    /// The provider has none: no event is a duplicate of another, and `event_id` is empty.
    Never,
    /// This one of several events has none, although it should: quarantine it. `event_id` contains its hash.
    Missing,
}

/// The bytes of a request that are an event's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventBody {
    /// All of them; for a GET delivery, its query.
    Whole,
    /// An item of a batch.
    Part(Range<usize>),
    /// These ranges, one after another: the request as it would be if it contained this event alone.
    Pieces(Vec<Range<usize>>),
}

impl EventBody {
    /// The bytes of the body, taken from the request.
    pub fn of<'a>(&self, request: &'a [u8]) -> Cow<'a, [u8]> {
        let slice = |range: &Range<usize>| request.get(range.clone()).unwrap_or_default();
        match self {
            EventBody::Whole => Cow::Borrowed(request),
            EventBody::Part(range) => Cow::Borrowed(slice(range)),
            EventBody::Pieces(ranges) => Cow::Owned(ranges.iter().flat_map(slice).copied().collect()),
        }
    }
}

/// A hash of the content that stays the same when an event is retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentHash {
    /// Names the rule: what is excluded.
    pub rule: String,
    /// SHA-256 of the remaining content.
    pub hash: [u8; 32],
}

/// A secret that a provider sends.
#[derive(Clone, PartialEq, Eq)]
pub struct Registration {
    /// The secret to store.
    pub secret: String,
    /// The response, to be sent once the secret is stored durably.
    pub answer: HandshakeAnswer,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is omitted, and so is the response, which may repeat it.
        formatter.debug_struct("Registration").finish_non_exhaustive()
    }
}

/// A URL that must be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// The URL, already checked against the provider's allowed hosts.
    pub url: String,
    /// The response, to be sent once the URL was called.
    pub answer: HandshakeAnswer,
}

/// The response to a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, including `content-type`.
    pub headers: Vec<(String, String)>,
    /// The response body.
    pub body: Vec<u8>,
}

impl HandshakeAnswer {
    /// Status 200 without a body.
    pub(crate) fn empty() -> Self {
        HandshakeAnswer {
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Status 200 with plain text that no browser interprets as anything else.
    pub(crate) fn text(body: impl Into<Vec<u8>>) -> Self {
        HandshakeAnswer {
            status: 200,
            headers: vec![
                ("content-type".to_owned(), "text/plain".to_owned()),
                ("x-content-type-options".to_owned(), "nosniff".to_owned()),
            ],
            body: body.into(),
        }
    }

    /// Status 200 with JSON.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        HandshakeAnswer {
            status: 200,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: value.to_string().into_bytes(),
        }
    }
}

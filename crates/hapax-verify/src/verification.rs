//! What a request turned out to be: one or more events, a handshake to answer, or a question that needs a key first.

use std::borrow::Cow;
use std::ops::Range;

use crate::KeyRequest;

/// The outcome of a request that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// Verified events, in the order of the body. Empty only for senders whose batches may be empty.
    Events(Vec<Envelope>),
    /// The sender wants to see an answer before it delivers anything; nothing is stored.
    Handshake(HandshakeAnswer),
    /// The sender hands over the secret that it will sign with. Anyone could: it counts only for a registration that
    /// the operator opened, and only once it is durable may the answer be given.
    Registration(Registration),
    /// The sender is confirmed by calling a URL of its own before the answer is given.
    Confirmation(Confirmation),
    /// The signature can only be checked with a key that has to be fetched first.
    NeedsKey(KeyRequest),
}

/// One verified event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The provider's own id of the event, in the text form described at [`crate::identity`].
    pub event_id: String,
    /// The id that the version of the rule before this one gave the event, where it is another.
    pub earlier_id: Option<String>,
    /// The provider's type of the event, if it has one.
    pub event_type: Option<String>,
    /// The timestamp that the signature covers, in unix seconds.
    pub signed_at: Option<i64>,
    /// The transmission that brought it, where the sender signs that and not the body: the caller has to remember
    /// which body came with it first, and refuse any other.
    pub transmission: Option<Transmission>,
    /// Which of the verifier's secrets matched, counted from 0.
    pub secret_index: Option<usize>,
    /// Whether the signature covers the id. Where it does not, a replayer can give an old body a new id.
    pub id_is_signed: bool,
    /// What `event_id` is worth.
    pub identification: Identification,
    /// What a destination is given.
    pub body: EventBody,
    /// What the event's content is judged by, where it is not the hash of its body.
    pub content_hash: Option<ContentHash>,
    /// The place inside a batch, counted from 0; `None` for a request that carries one event.
    pub batch_index: Option<u32>,
}

/// A transmission that stands for one body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmission {
    /// Its id, which is signed.
    pub id: String,
    /// After this time, in unix seconds, nothing is accepted under its signature any more.
    pub valid_until: i64,
}

/// What an event's id is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identification {
    /// It is the sender's, and the same in every attempt.
    BySender,
    /// The sender has none: no event is a duplicate of another, and `event_id` is empty.
    Never,
    /// This one of several has none, though it should: it is to be kept aside. `event_id` is made of its hash.
    Missing,
}

/// Which bytes of a request an event's body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventBody {
    /// All of them; of a delivery by GET its query.
    Whole,
    /// An item of a batch.
    Part(Range<usize>),
    /// These, one after another: the request as it would be if it carried this event alone.
    Pieces(Vec<Range<usize>>),
}

impl EventBody {
    /// The bytes themselves, out of the request's.
    pub fn of<'a>(&self, request: &'a [u8]) -> Cow<'a, [u8]> {
        let slice = |range: &Range<usize>| request.get(range.clone()).unwrap_or_default();
        match self {
            EventBody::Whole => Cow::Borrowed(request),
            EventBody::Part(range) => Cow::Borrowed(slice(range)),
            EventBody::Pieces(ranges) => Cow::Owned(ranges.iter().flat_map(slice).copied().collect()),
        }
    }
}

/// A hash over what stays the same when an event is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentHash {
    /// Names the rule: what is left out.
    pub rule: String,
    /// SHA-256 over the rest.
    pub hash: [u8; 32],
}

/// A secret that a sender hands over.
#[derive(Clone, PartialEq, Eq)]
pub struct Registration {
    /// The secret.
    pub secret: String,
    /// What to answer once it is durable.
    pub answer: HandshakeAnswer,
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is left out, and so is the answer, which may repeat it.
        formatter.debug_struct("Registration").finish_non_exhaustive()
    }
}

/// A URL that has to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    /// Where, already checked against the provider's allowed hosts.
    pub url: String,
    /// What to answer once it was called.
    pub answer: HandshakeAnswer,
}

/// What to answer to a handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The headers, `content-type` among them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HandshakeAnswer {
    /// 200 with nothing in it.
    pub(crate) fn empty() -> Self {
        HandshakeAnswer {
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// 200 with a text, which no browser takes for anything else.
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

    /// 200 with JSON.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        HandshakeAnswer {
            status: 200,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: value.to_string().into_bytes(),
        }
    }
}

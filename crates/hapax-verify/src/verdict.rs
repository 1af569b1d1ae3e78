//! What a request turned out to be: one or more events, a handshake to answer, or a question that needs a key first.

use std::ops::Range;

/// The outcome of a request that was not refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Verified events, in the order of the body. Empty only for senders whose batches may be empty.
    Events(Vec<Envelope>),
    /// The sender wants to see an answer before it delivers anything; nothing is stored.
    Handshake(HandshakeAnswer),
    /// The signature can only be checked with a key that has to be fetched first.
    NeedsKey(KeyRequest),
}

/// One verified event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The provider's own id of the event, in the text form described at [`crate::identity`].
    pub event_id: String,
    /// The provider's type of the event, if it has one.
    pub event_type: Option<String>,
    /// The timestamp that the signature covers, in unix seconds.
    pub signed_at: Option<i64>,
    /// Which of the verifier's secrets matched, counted from 0.
    pub secret_index: Option<usize>,
    /// Whether the signature covers the id. Where it does not, a replayer can give an old body a new id.
    pub id_is_signed: bool,
    /// Whether `event_id` identifies the event. `false` where the sender has no ids and the caller has to make one.
    pub deduplicated: bool,
    /// Where the event is inside the request's body; `None` is all of it.
    pub body: Option<Range<usize>>,
    /// The name of the rule by which a content hash leaves out fields that change between attempts.
    pub content_hash_rule: Option<&'static str>,
    /// The place inside a batch, counted from 0; `None` for a request that carries one event.
    pub batch_index: Option<u32>,
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

/// Which key is needed before the request can be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRequest {
    /// Where the key is, already checked against the provider's allowed hosts.
    pub url: String,
    /// The name under which the caller may keep it.
    pub key_id: String,
}

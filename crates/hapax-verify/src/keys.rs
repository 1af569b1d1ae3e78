//! Keys that are fetched: some senders sign with a key of their own and say where its public half is.
//!
//! This crate does no I/O. A verifier that lacks a key answers [`Verification::NeedsKey`](crate::Verification::NeedsKey), the
//! caller fetches it, keeps it, and asks again.

use std::collections::BTreeMap;

/// The keys that are at hand.
pub trait Keys: Send + Sync {
    /// The bytes that were found under this id, as they were fetched.
    fn get(&self, key_id: &str) -> Option<Vec<u8>>;
}

/// None.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKeys;

impl Keys for NoKeys {
    fn get(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

impl Keys for BTreeMap<String, Vec<u8>> {
    fn get(&self, key_id: &str) -> Option<Vec<u8>> {
        BTreeMap::get(self, key_id).cloned()
    }
}

/// Which key is needed before a request can be judged. What a sender is asked besides its keys, such as whether a
/// signature is its own, is asked for in the same way.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRequest {
    /// Where the key is, already checked against the provider's allowed hosts.
    pub url: String,
    /// The name under which the caller keeps it.
    pub key_id: String,
    /// What it is.
    pub kind: KeyKind,
    /// What is sent to get it; nothing is a GET. It may contain credentials.
    pub question: Option<Box<Question>>,
    /// What an answer contains that is one. Any other is a failure, and not kept.
    pub expects: &'static str,
}

/// What a sender is asked for. This decides how long it counts, and who can have us ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A key that the sender publishes. The request that names it is not proven yet, so anyone can have us ask.
    Published,
    /// A token to ask the sender with. It is needed only for requests that passed every check that needs none.
    Token,
    /// What the sender says about one request, which has passed every other check.
    Answer,
}

/// What is sent to get a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Question {
    /// The body.
    pub body: Vec<u8>,
    /// Its content type.
    pub content_type: &'static str,
    /// The `Authorization` header, where the sender wants one.
    pub authorization: Option<String>,
}

impl Question {
    /// JSON that needs no further authorization.
    pub(crate) fn json(body: Vec<u8>) -> Self {
        Question {
            body,
            content_type: "application/json",
            authorization: None,
        }
    }
}

impl KeyRequest {
    /// The certificate at a URL, which is its name as well.
    pub(crate) fn certificate(url: &str) -> Self {
        KeyRequest {
            url: url.to_owned(),
            key_id: url.to_owned(),
            kind: KeyKind::Published,
            question: None,
            expects: "-----BEGIN CERTIFICATE-----",
        }
    }
}

impl std::fmt::Debug for KeyRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The question is left out on purpose.
        formatter
            .debug_struct("KeyRequest")
            .field("url", &self.url)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

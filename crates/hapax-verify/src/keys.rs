//! Fetched keys: some providers sign with their own key and state where its public half is.
//!
//! This crate does no I/O. A verifier that lacks a key returns
//! [`Verification::NeedsKey`](crate::Verification::NeedsKey); the caller fetches the key, stores it, and verifies
//! again.

use std::collections::BTreeMap;

/// The keys that are available.
pub trait Keys: Send + Sync {
    /// The bytes that were fetched for this key id.
    fn get(&self, key_id: &str) -> Option<Vec<u8>>;
}

/// No keys.
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

/// The key that is needed before a request can be verified. Other questions to a provider, such as whether a signature
/// is its own, take the same form.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRequest {
    /// The URL of the key, already checked against the provider's allowed hosts.
    pub url: String,
    /// The name under which the caller stores it.
    pub key_id: String,
    /// The kind of key.
    pub kind: KeyKind,
    /// The request body to send; `None` is a GET. It may contain credentials.
    pub question: Option<Box<Question>>,
    /// A string that every valid response contains. Any other response is a failure and is not stored.
    pub expects: &'static str,
}

/// What a provider is asked for. This determines how long it is valid, and who can trigger the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A key that the provider publishes. The request that names it is not verified yet, so anyone can trigger the
    /// fetch.
    Published,
    /// A token for calling the provider. It is needed only for requests that passed every check that needs none.
    Token,
    /// The provider's statement about one request that has passed every other check.
    Answer,
}

/// The request with which a key is fetched.
#[derive(Clone, PartialEq, Eq)]
pub struct Question {
    /// The request body.
    pub body: Vec<u8>,
    /// The content type of the body.
    pub content_type: &'static str,
    /// The `Authorization` header, if the provider requires one.
    pub authorization: Option<String>,
}

impl Question {
    /// A JSON body without further authorization.
    pub(crate) fn json(body: Vec<u8>) -> Self {
        Question {
            body,
            content_type: "application/json",
            authorization: None,
        }
    }
}

impl KeyRequest {
    /// The certificate at a URL, which also serves as its name.
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
        // The question is omitted on purpose: it may contain credentials.
        formatter
            .debug_struct("KeyRequest")
            .field("url", &self.url)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

//! Everything that says how a sender's requests are judged, as data.

use serde::Deserialize;

use crate::{Handshake, IdentityRule, Proof};

/// How a sender's requests are judged: a preset's recipe, or a source's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// How it proves who it is.
    pub proof: Proof,
    /// Where its ids and types are.
    pub identity: IdentityRule,
    /// What it wants answered before it delivers anything.
    pub handshakes: Vec<Handshake>,
    /// Whether it can do without a secret.
    pub secrets: SecretNeed,
    /// Whether it delivers by GET as well, with a form in the query.
    pub delivers_by_get: bool,
}

/// Whether a sender needs a secret here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretNeed {
    /// Without one nothing can be verified.
    #[default]
    Required,
    /// Its keys are fetched, or handed over; one that is configured is used instead.
    Optional,
}

impl Recipe {
    /// A sender without a preset.
    pub fn custom(proof: impl Into<Proof>, identity: IdentityRule) -> Self {
        Recipe {
            proof: proof.into(),
            identity,
            handshakes: Vec::new(),
            secrets: SecretNeed::Required,
            delivers_by_get: false,
        }
    }
}

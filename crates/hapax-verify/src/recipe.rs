//! Everything that determines how a provider's requests are verified, as data.

use serde::Deserialize;

use crate::handshake::Handshake;
use crate::identity::IdentityRule;
use crate::proof::Proof;

/// How a provider's requests are verified: a preset's recipe, or a source's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// How it proves its identity.
    pub proof: Proof,
    /// Where its ids and types are.
    pub identity: IdentityRule,
    /// The handshakes that it performs before it delivers events.
    pub handshakes: Vec<Handshake>,
    /// Whether a secret is required.
    pub secrets: SecretNeed,
    /// Whether it also delivers by GET, with a form in the query.
    pub delivers_by_get: bool,
}

/// Whether a source needs a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretNeed {
    /// Nothing can be verified without one.
    #[default]
    Required,
    /// Keys are fetched or sent by the provider; a configured one is used instead.
    Optional,
}

impl Recipe {
    /// The recipe of a source without a preset.
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

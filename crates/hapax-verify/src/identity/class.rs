//! What an identity guarantees, and what happens to two bodies under one id.

use std::fmt;

use serde::Deserialize;

use super::{Field, IdRule, ValuePath};

/// What an identity guarantees about retries and about other events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdClass {
    /// The provider identifies the event: a retry has the same id, and another event a different one.
    OwnId,
    /// The provider sends no id. The id includes a hash of everything that stays the same on a retry, so that different
    /// content is always a different event.
    Content,
    /// Retries do not happen, or cannot be distinguished from new events: every request is a new event.
    NotDeduplicated,
}

/// What to do with a known id and a different body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnConflict {
    /// Store it as a conflict; it takes no effect until an operator releases it.
    #[default]
    Keep,
    /// Accept it as a new event, under the id and the hash of its content.
    Accept,
}

impl IdClass {
    /// The name of the class in the catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            IdClass::OwnId => "own-id",
            IdClass::Content => "content",
            IdClass::NotDeduplicated => "not-deduplicated",
        }
    }
}

impl fmt::Display for IdClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl OnConflict {
    /// The name of the policy in a configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            OnConflict::Keep => "keep",
            OnConflict::Accept => "accept",
        }
    }
}

impl IdRule {
    /// The class that follows from the rule itself, determined by its first composite.
    pub fn class(&self) -> IdClass {
        let is_hash = |path: &ValuePath| match path {
            ValuePath::BodySha256 | ValuePath::RequestSha256 => true,
            ValuePath::Proof(fact) => fact == "sha256",
            _ => false,
        };
        match self.composites().first() {
            None => IdClass::NotDeduplicated,
            Some(first) if first.fields().iter().flat_map(Field::paths).any(is_hash) => IdClass::Content,
            Some(_) => IdClass::OwnId,
        }
    }
}

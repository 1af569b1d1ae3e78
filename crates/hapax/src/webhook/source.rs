//! A source: its provider, how its requests are verified, and the body limit.

use std::fmt;
use std::sync::Arc;

use hapax_verify::{AnswerRule, IdentityRule, Options, Proof, Recipe, SetupError, Verifier, catalogue};

use crate::error::Invalid;
use crate::limits::BODY_BYTES_MAX;

/// Verifies the deliveries of one provider. Cheap to clone.
#[derive(Clone)]
pub struct Source {
    pub(super) name: Arc<str>,
    pub(super) verifier: Arc<Verifier>,
    pub(super) body_bytes_max: usize,
    pub(super) url: Arc<str>,
    /// What the provider requires of responses.
    pub(super) answer: Arc<AnswerRule>,
}

/// Why a source could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The catalogue has no preset with this name.
    #[error(
        "no provider is named `{0}`; `hapax providers` lists them, and Source::custom accepts any other scheme"
    )]
    UnknownProvider(String),
    /// A secret or the scheme is invalid.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] Invalid),
}

impl Source {
    /// Uses a preset from the catalogue, such as `stripe`, which is also the source's name. Any of the secrets may
    /// match, which allows rotation.
    pub fn provider<S: AsRef<str>>(provider: &str, secrets: &[S]) -> Result<Self, SourceError> {
        let preset =
            catalogue::get(provider).ok_or_else(|| SourceError::UnknownProvider(provider.to_owned()))?;
        Self::preset(preset, secrets, &Options::default())
    }

    /// Like [`Source::provider`], with further options that the preset needs, such as a `webhook_id`.
    pub fn provider_with<S: AsRef<str>>(
        provider: &str,
        secrets: &[S],
        options: &Options,
    ) -> Result<Self, SourceError> {
        let preset =
            catalogue::get(provider).ok_or_else(|| SourceError::UnknownProvider(provider.to_owned()))?;
        Self::preset(preset, secrets, options)
    }

    fn preset<S: AsRef<str>>(
        preset: &catalogue::Provider,
        secrets: &[S],
        options: &Options,
    ) -> Result<Self, SourceError> {
        let verifier = Verifier::new(&preset.recipe(), secrets, options)?;
        let source = Self::new(preset.name.clone(), verifier)?;
        let senders = preset.delivery.body_bytes_max.unwrap_or_default();
        Ok(Self {
            body_bytes_max: source
                .body_bytes_max
                .max(usize::try_from(senders).unwrap_or(usize::MAX)),
            answer: Arc::new(preset.answer.clone()),
            ..source
        })
    }

    /// Uses a custom signature scheme or another kind of proof.
    pub fn custom<S: AsRef<str>>(
        name: impl Into<String>,
        proof: impl Into<Proof>,
        identity: IdentityRule,
        secrets: &[S],
    ) -> Result<Self, SourceError> {
        let recipe = Recipe::custom(proof, identity);
        Self::new(name.into(), Verifier::new(&recipe, secrets, &Options::default())?)
    }

    fn new(name: String, verifier: Verifier) -> Result<Self, SourceError> {
        Ok(Self {
            name: Invalid::check("source", name)?.into(),
            verifier: Arc::new(verifier),
            body_bytes_max: BODY_BYTES_MAX,
            url: Arc::from(""),
            answer: Arc::default(),
        })
    }

    /// Sets another name. Ids are unique within it, so two accounts of one provider may need two names.
    pub fn named(mut self, name: impl Into<String>) -> Result<Self, SourceError> {
        self.name = Invalid::check("source", name.into())?.into();
        Ok(self)
    }

    /// Sets the maximum body size; the default is 5 MiB, or a larger limit if the preset has one.
    #[must_use]
    pub const fn body_limit(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// Sets the public URL of the route, for providers that sign it. It is never taken from the request.
    #[must_use]
    pub fn public_url(mut self, url: &str) -> Self {
        self.url = Arc::from(url);
        self
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut source = formatter.debug_struct("Source");
        source
            .field("name", &self.name)
            .field("verifier", &self.verifier)
            .finish_non_exhaustive()
    }
}

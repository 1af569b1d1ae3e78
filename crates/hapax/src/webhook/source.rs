//! A source: its provider, how its requests are verified, and the body limit.

use std::fmt;
use std::sync::Arc;

use hapax_verify::{
    AnswerRule, IdentityRule, Keys, NoKeys, Options, Proof, Recipe, SetupError, Verifier, catalogue,
};

use super::insisted;
use super::refused::{Reason, Refused};
use crate::answer::Answer;
use crate::error::Invalid;
use crate::inbox::Outcome;
use crate::limits::{BODY_BYTES_MAX, BODY_TIMEOUT};

/// The preset with which the gateway signs what it passes on.
pub const GATEWAY_PRESET: &str = "standard-webhooks";

/// Verifies the deliveries of one provider. Cheap to clone.
///
/// With axum, it is the state of the extractors and part of the layer. In any other framework, read the body, call
/// [`Source::receive`], apply each event, and send [`Source::answer`]:
///
/// ```
/// use hapax::Outcome;
/// use hapax::webhook::Source;
/// # fn apply(_: &hapax::Event) -> Outcome<()> { Outcome::Duplicate }
///
/// fn handle(source: &Source, head: &http::request::Parts, body: Vec<u8>) -> hapax::answer::Answer {
///     let events = match source.receive(head, &body.into(), hapax::webhook::now()) {
///         Ok(events) => events,
///         Err(refused) => return refused.answer(),
///     };
///     let outcomes: Vec<_> = events
///         .iter()
///         .map(|webhook| (apply(webhook.event()), webhook.event().event_id().to_owned()))
///         .collect();
///     source.answer(&outcomes)
/// }
/// ```
#[derive(Clone)]
pub struct Source {
    pub(super) name: Arc<str>,
    pub(super) verifier: Arc<Verifier>,
    pub(super) body_bytes_max: usize,
    pub(super) url: Arc<str>,
    pub(super) keys: Arc<dyn Keys>,
    pub(super) caller: Caller,
    /// What the provider requires of responses.
    pub(super) rule: Arc<AnswerRule>,
}

/// Who calls the route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    Provider,
    Gateway,
}

/// Why a source could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The catalogue has no preset with this name.
    #[error(
        "no provider is named `{0}`; `hapax providers` lists them, and a custom source takes any other scheme"
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
        Self::provider_with(provider, secrets, &Options::default())
    }

    /// Like [`Source::provider`], with further options that the preset needs, such as a `webhook_id`.
    pub fn provider_with<S: AsRef<str>>(
        provider: &str,
        secrets: &[S],
        options: &Options,
    ) -> Result<Self, SourceError> {
        let preset =
            catalogue::get(provider).ok_or_else(|| SourceError::UnknownProvider(provider.to_owned()))?;
        let verifier = Verifier::new(&preset.recipe(), secrets, options)?;
        let source = Self::new(preset.name.clone(), verifier)?;
        let senders = preset.delivery.body_bytes_max.unwrap_or_default();
        Ok(Self {
            body_bytes_max: source
                .body_bytes_max
                .max(usize::try_from(senders).unwrap_or(usize::MAX)),
            rule: Arc::new(preset.answer.clone()),
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

    /// For a service behind the Hapax gateway: verifies the signature of an `http` destination with a `secret`. The name
    /// is `hapax`.
    ///
    /// The event to claim is the idempotency key, which the gateway signs as `webhook-id`: the same in every attempt, and
    /// a new one only for a forced replay. [`Webhook::via_hapax`](super::Webhook::via_hapax) has the provider's event.
    pub fn hapax<S: AsRef<str>>(secrets: &[S]) -> Result<Self, SourceError> {
        let source = Self::provider(GATEWAY_PRESET, secrets)?.named("hapax")?;
        Ok(Self {
            caller: Caller::Gateway,
            ..source
        })
    }

    fn new(name: String, verifier: Verifier) -> Result<Self, SourceError> {
        Ok(Self {
            name: Invalid::check("source", name)?.into(),
            verifier: Arc::new(verifier),
            body_bytes_max: BODY_BYTES_MAX,
            url: Arc::from(""),
            keys: Arc::new(NoKeys),
            caller: Caller::Provider,
            rule: Arc::default(),
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

    /// Sets the public URL of the route, for providers that sign it. It is never taken from the request; only the
    /// request's query is appended, unless the URL has one of its own.
    #[must_use]
    pub fn public_url(mut self, url: &str) -> Self {
        self.url = Arc::from(url);
        self
    }

    /// Sets the keys of providers that publish theirs, such as certificates by URL. A request that names a key that is
    /// not among them is refused with [`Reason::NeedsKey`].
    #[must_use]
    pub fn keys(mut self, keys: impl Keys + 'static) -> Self {
        self.keys = Arc::new(keys);
        self
    }

    /// The name, in which ids are unique.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The maximum body size, in bytes.
    pub const fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    /// The refusal of a body that exceeds [`Source::body_bytes_max`].
    pub fn too_large(&self) -> Refused {
        self.refused(Reason::TooLarge {
            bytes_max: self.body_bytes_max,
        })
    }

    /// The refusal of a body that is not complete after [`BODY_TIMEOUT`].
    pub fn too_slow(&self) -> Refused {
        self.refused(Reason::TooSlow(BODY_TIMEOUT))
    }

    /// The response to a request whose events have these outcomes and ids, in the form that the provider requires. If
    /// one of them is in flight, all of them have to be delivered again.
    pub fn answer<T>(&self, outcomes: &[(Outcome<T>, String)]) -> Answer {
        let in_flight = outcomes
            .iter()
            .find(|(outcome, _)| matches!(outcome, Outcome::InFlight));
        let answer = match (in_flight, outcomes) {
            (Some((outcome, id)), _) | (None, [(outcome, id)]) => Answer::of_outcome(outcome, id),
            (None, batch) => Answer::of_batch(batch),
        };
        insisted::accepted(answer, &self.rule)
    }

    pub(super) fn refused(&self, reason: impl Into<Reason>) -> Refused {
        Refused {
            reason: reason.into(),
            rule: Arc::clone(&self.rule),
        }
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

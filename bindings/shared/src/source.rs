//! A source: the library's own, with what it takes to sign samples.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use hapax::Outcome;
use hapax::answer::Answer;
use hapax::webhook::{self, Head, SourceError, Timestamp};
use hapax_verify::{IdentityRule, Keys, Options, Proof, catalogue};
use http::HeaderMap;

use crate::received::{Received, Reply};
use crate::signing::Signing;
use crate::{Error, custom};

/// Fetched keys by their id.
pub type KeyMap = BTreeMap<String, Vec<u8>>;

/// Verifies the deliveries of one provider.
#[derive(Clone)]
pub struct Source {
    inner: webhook::Source,
    pub(crate) signing: Signing,
    keys: KeyMap,
}

/// The head of a request.
#[derive(Clone, Debug)]
pub struct RequestHead {
    /// The HTTP method.
    pub method: String,
    /// The query without its `?`.
    pub query: String,
    /// All headers, as [`crate::headers`] makes them.
    pub headers: HeaderMap,
    /// When the head arrived, in Unix seconds; now if it is left out.
    pub now: Option<i64>,
}

/// What every source may have.
#[derive(Clone, Default)]
pub struct SourceSettings {
    /// The public URL, for providers that sign it.
    pub public_url: Option<String>,
    /// The maximum body size, in bytes.
    pub body_limit: Option<usize>,
    /// The secret that signs samples, if those of the source only verify.
    pub signing_secret: Option<String>,
}

/// What a source with a preset may have.
#[derive(Clone, Default)]
pub struct ProviderSettings {
    /// Options of the preset.
    pub options: Options,
    /// Another name than the preset's.
    pub source_name: Option<String>,
    /// Keys that are known already.
    pub keys: KeyMap,
    /// What every source may have.
    pub source: SourceSettings,
}

impl Source {
    /// Uses a preset from the catalogue.
    pub fn provider(name: &str, secrets: &[String], settings: ProviderSettings) -> Result<Self, Error> {
        let preset = catalogue::get(name).ok_or_else(|| SourceError::UnknownProvider(name.to_owned()))?;
        check_options(preset, &settings.options)?;
        let mut source = webhook::Source::provider_with(name, secrets, &settings.options)?;
        if let Some(name) = settings.source_name {
            source = source.named(name)?;
        }
        let signing = Signing::of_preset(preset, settings.options);
        Ok(Self::new(source, signing, secrets, settings.source).with_keys(settings.keys))
    }

    /// Uses a scheme of its own, as JSON in the shape of `[sources.NAME]` in `hapax.toml`.
    pub fn custom(
        name: &str,
        scheme: &str,
        secrets: &[String],
        settings: SourceSettings,
    ) -> Result<Self, Error> {
        let (proof, identity): (Proof, IdentityRule) = custom::read(scheme)?;
        let source = webhook::Source::custom(name, proof.clone(), identity.clone(), secrets)?;
        let signing = Signing::of_scheme(proof, identity);
        Ok(Self::new(source, signing, secrets, settings))
    }

    /// Behind the Hapax gateway.
    pub fn hapax(secrets: &[String], name: &str, body_limit: Option<usize>) -> Result<Self, Error> {
        let source = webhook::Source::hapax(secrets)?.named(name)?;
        let preset = catalogue::get(webhook::GATEWAY_PRESET)
            .ok_or_else(|| SourceError::UnknownProvider(webhook::GATEWAY_PRESET.to_owned()))?;
        let settings = SourceSettings {
            body_limit,
            ..SourceSettings::default()
        };
        Ok(Self::new(source, Signing::of_gateway(preset), secrets, settings))
    }

    fn new(source: webhook::Source, signing: Signing, secrets: &[String], settings: SourceSettings) -> Self {
        let source = match settings.body_limit {
            Some(bytes) => source.body_limit(bytes),
            None => source,
        };
        let url = settings.public_url.unwrap_or_default();
        let secret = settings.signing_secret.or_else(|| secrets.first().cloned());
        Self {
            inner: source.public_url(&url),
            signing: signing.with(secret, url),
            keys: KeyMap::new(),
        }
    }

    /// The same source with more keys.
    #[must_use]
    pub fn with_keys(mut self, keys: KeyMap) -> Self {
        self.keys.extend(keys);
        self.inner = self.inner.keys(AllKeys(self.keys.clone()));
        self
    }

    /// The name, in which ids are unique.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// The maximum body size, in bytes.
    pub fn body_limit(&self) -> usize {
        self.inner.body_bytes_max()
    }

    /// The verified events of a request, or the response to it. `keys` are those that were fetched since.
    pub fn receive(&self, head: &RequestHead, body: &[u8], keys: KeyMap) -> Received {
        let body = Bytes::copy_from_slice(body);
        let received = self.knowing(keys).receive(head.borrowed(), &body, head.time());
        Received::of(received, &body)
    }

    /// The likely mistake behind a refused request.
    pub fn explain(&self, head: &RequestHead, body: &[u8], keys: KeyMap) -> Option<String> {
        let mistake = self.knowing(keys).explain(head.borrowed(), body, head.time());
        mistake.map(|mistake| mistake.to_string())
    }

    fn knowing(&self, keys: KeyMap) -> Cow<'_, webhook::Source> {
        if keys.is_empty() {
            return Cow::Borrowed(&self.inner);
        }
        Cow::Owned(self.clone().with_keys(keys).inner)
    }

    /// The response to a body that exceeds the limit.
    pub fn too_large(&self) -> Reply {
        self.inner.too_large().answer().into()
    }

    /// The response to a body that does not arrive in time.
    pub fn too_slow(&self) -> Reply {
        self.inner.too_slow().answer().into()
    }

    /// The response to a request whose events ended like this: `processed`, `duplicate`, `conflict` or `in_flight`.
    pub fn answer(&self, outcomes: Vec<(String, String)>) -> Result<Reply, Error> {
        let outcomes = outcomes
            .into_iter()
            .map(|(word, event_id)| Ok((outcome(&word)?, event_id)))
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(self.inner.answer(&outcomes).into())
    }

    /// The response after a handler failed.
    pub fn answer_failed(&self) -> Reply {
        Answer::handler_failed().into()
    }

    /// The response while the database is unavailable.
    pub fn answer_unavailable(&self) -> Reply {
        Answer::unavailable().into()
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Secrets and keys are omitted on purpose.
        formatter
            .debug_struct("Source")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl RequestHead {
    fn borrowed(&self) -> Head<'_> {
        Head {
            method: &self.method,
            query: &self.query,
            headers: &self.headers,
        }
    }

    fn time(&self) -> Timestamp {
        self.now.map_or_else(webhook::now, Timestamp::from_seconds)
    }
}

/// A body limit as a language has it.
pub fn body_limit(bytes: f64) -> Result<usize, Error> {
    // Above 2^53 a number of JavaScript is no longer exact.
    let is_limit = bytes.fract() == 0.0 && (1.0..=9_007_199_254_740_992.0).contains(&bytes);
    if is_limit {
        return Ok(bytes as usize);
    }
    Err(Error::invalid(format!(
        "the body limit {bytes} is not a whole number of bytes above 0; leave it out for the default"
    )))
}

struct AllKeys(KeyMap);

impl Keys for AllKeys {
    fn get(&self, key_id: &str) -> Option<Vec<u8>> {
        self.0.get(key_id).cloned()
    }
}

fn outcome(word: &str) -> Result<Outcome<()>, Error> {
    match word {
        "processed" => Ok(Outcome::Processed(())),
        "duplicate" => Ok(Outcome::Duplicate),
        "conflict" => Ok(Outcome::Conflict),
        "in_flight" => Ok(Outcome::InFlight),
        _ => Err(Error::invalid(format!(
            "`{word}` is not an outcome; write `processed`, `duplicate`, `conflict` or `in_flight`"
        ))),
    }
}

/// A misspelt option would silently protect nothing.
fn check_options(preset: &catalogue::Provider, options: &Options) -> Result<(), Error> {
    let known: Vec<&str> = preset.options.iter().map(|option| option.name.as_str()).collect();
    match options.names().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) if known.is_empty() => Err(Error::setup(format!(
            "the provider `{}` has no option `{name}`, and no other; remove it",
            preset.name
        ))),
        Some(name) => Err(Error::setup(format!(
            "the provider `{}` has no option `{name}`; it has: {}",
            preset.name,
            known.join(", ")
        ))),
    }
}

//! The configured sources: for each, its verifier and how it is answered, compiled once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Fingerprinter, Scope, SourceName, SystemRandom, Timestamp};
use hapax_verify::{AnswerRule, Verifier};
use http::{StatusCode, Uri};

use crate::earlier_ids::EarlierIds;
use crate::handover::HandedSecrets;
use hapax_api::problem::Problem;
use hapax_config::{self as config, Ack, Config};
use hapax_listen::Peer;
use hapax_telemetry::{Metrics, SourceMeter};

use super::refused;

/// How long the store may delay a response: few providers wait longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Source {
    /// The last segment of the source's path.
    pub name: SourceName,
    /// The scope in which its event ids are unique.
    pub scope: Scope,
    /// Verifies requests and identifies their events.
    pub verifier: Arc<Verifier>,
    /// The same with the secrets from handshakes, if the provider sends any.
    pub handed: Option<HandedSecrets>,
    /// The provider's requirements for responses.
    pub answer: AnswerRule,
    /// The response status for a new event.
    pub ack_status: AckStatus,
    /// When a request is answered.
    pub ack: Ack,
    /// A request that has arrived in full is answered within this time, regardless of the store.
    pub answer_within: Duration,
    /// The largest body, in bytes.
    pub body_limit: u64,
    /// Until when events are also looked up under their id by the previous rule.
    pub earlier_ids_until: Option<Timestamp>,
    /// The URL that the provider calls.
    pub public_url: PublicUrl,
    /// The networks that requests may come from; `None` allows any.
    pub allow_from: Option<config::AllowFrom>,
    pub meter: Arc<SourceMeter>,
    /// Recognises the bodies of duplicates; `None` if the operating system has no randomness. The key is new after every
    /// reload, so nothing that was read by an earlier rule is recognised.
    pub fingerprints: Option<Fingerprinter>,
}

impl Source {
    /// Refuses a peer that `allow_from` does not include.
    pub(super) fn check_peer(&self, peer: Peer) -> Result<(), Problem> {
        match &self.allow_from {
            Some(allowed) if !allowed.allows(peer.0) => Err(refused::address_not_allowed(peer.0)),
            _ => Ok(()),
        }
    }
}

/// The URL that a provider calls. Only the configured one counts, because the client controls the `Host` header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PublicUrl {
    /// Not configured.
    #[default]
    Unknown,
    /// The service's URL, without a trailing slash. The path is that of the request, as called.
    Service(String),
    /// The source's own URL, for a proxy that changes the path.
    Source(String),
}

/// The status of the response to a new event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckStatus {
    #[default]
    Ok,
    Accepted,
}

/// All sources, by name.
#[derive(Debug, Default)]
pub struct Sources(HashMap<Box<str>, Arc<Source>>);

impl Sources {
    /// The sources of a configuration.
    pub fn of(config: &Config, earlier_ids: &EarlierIds, metrics: &Metrics) -> Self {
        let random = SystemRandom::new();
        let sources = config.sources.values().map(|source| Source {
            name: source.name.clone(),
            scope: source.scope.clone(),
            verifier: Arc::clone(&source.verifier),
            handed: HandedSecrets::new(source),
            answer: source
                .provider
                .map(|provider| provider.answer.clone())
                .unwrap_or_default(),
            ack_status: match source.ack_status {
                StatusCode::ACCEPTED => AckStatus::Accepted,
                _ => AckStatus::Ok,
            },
            ack: source.ack,
            answer_within: answer_within(source),
            body_limit: source.body_limit,
            earlier_ids_until: earlier_ids.until(&source.name),
            public_url: match (&source.public_url, &config.server.public_url) {
                (Some(own), _) => PublicUrl::Source(own.clone()),
                (None, Some(base)) => PublicUrl::Service(base.clone()),
                (None, None) => PublicUrl::Unknown,
            },
            allow_from: source.allow_from.clone(),
            meter: metrics.source(&source.name),
            fingerprints: Fingerprinter::new(&random).ok(),
        });
        sources.collect()
    }

    /// All sources, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.0.values()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub fn get(&self, name: &str) -> Option<Arc<Source>> {
        self.0.get(name).cloned()
    }
}

/// Early enough for the provider to receive the response: within four fifths of its timeout, if that is known. A longer
/// `ack_timeout` takes precedence.
fn answer_within(source: &config::Source) -> Duration {
    let timeout_seconds = source
        .provider
        .and_then(|provider| provider.delivery.timeout_seconds);
    let heard = timeout_seconds.map(|seconds| Duration::from_secs(seconds.into()) * 4 / 5);
    let within = heard.unwrap_or(ANSWER_WITHIN).min(ANSWER_WITHIN);
    match source.ack {
        Ack::Stored => within,
        Ack::Processed { limit } => within.max(limit),
    }
}

impl FromIterator<Source> for Sources {
    fn from_iter<I: IntoIterator<Item = Source>>(sources: I) -> Self {
        let named = sources
            .into_iter()
            .map(|source| (Box::from(source.name.as_str()), Arc::new(source)));
        Self(named.collect())
    }
}

impl Source {
    /// The verifier with every secret that this replica knows.
    pub(super) fn verifier(&self) -> Arc<Verifier> {
        match &self.handed {
            Some(handed) => handed.verifier(),
            None => Arc::clone(&self.verifier),
        }
    }

    /// The public URL of a request, for providers that sign it; empty if it is not configured.
    pub(super) fn url(&self, uri: &Uri) -> Cow<'static, str> {
        match &self.public_url {
            PublicUrl::Unknown => Cow::Borrowed(""),
            PublicUrl::Service(base) => {
                let path = uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str);
                Cow::Owned(format!("{base}{path}"))
            }
            PublicUrl::Source(url) => match uri.query() {
                Some(query) => Cow::Owned(format!("{url}?{query}")),
                None => Cow::Owned(url.clone()),
            },
        }
    }
}

//! The sources that may send: for each its verifier and how it wants to be answered, compiled once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hapax_core::{Scope, SourceName, Timestamp};
use hapax_verify::{AnswerRule, Verifier};
use http::{StatusCode, Uri};

use crate::earlier_ids::EarlierIds;
use crate::handover::HandedSecrets;
use hapax_api::problem::Problem;
use hapax_config::{self as config, Ack, Config};
use hapax_listen::Peer;
use hapax_telemetry::{Metrics, SourceMeter};

use super::refused;

/// How long the store may keep a sender waiting: few wait longer for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// One source.
#[derive(Debug)]
pub struct Source {
    /// Its name, the last part of its path.
    pub name: SourceName,
    /// Where its ids are unique.
    pub scope: Scope,
    /// Says whether a request is genuine, and which event it is.
    pub verifier: Arc<Verifier>,
    /// The same with what its sender handed over, where it does so.
    pub handed: Option<HandedSecrets>,
    /// What its sender insists on in answers.
    pub answer: AnswerRule,
    /// The status of an answer to a new event.
    pub ack_status: AckStatus,
    /// When an event is answered.
    pub ack: Ack,
    /// A delivery that has arrived in full is answered within this time, whatever the store does.
    pub answer_within: Duration,
    /// Bytes of a body; more is refused.
    pub body_limit: u64,
    /// Until when an event is also looked up under the id that the rule before gave it.
    pub earlier_ids_until: Option<Timestamp>,
    /// Where its sender sees us.
    pub public_url: PublicUrl,
    /// Where its requests may come from; anywhere without it.
    pub allow_from: Option<config::AllowFrom>,
    /// Counts.
    pub meter: Arc<SourceMeter>,
}

impl Source {
    /// Refuses whoever may not send.
    pub(super) fn check_peer(&self, peer: Peer) -> Result<(), Problem> {
        match &self.allow_from {
            Some(allowed) if !allowed.allows(peer.0) => Err(refused::address_not_allowed(peer.0)),
            _ => Ok(()),
        }
    }
}

/// Where a sender sees us. Only what is configured counts: a `Host` header is the sender's own word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PublicUrl {
    /// No one said.
    #[default]
    Unknown,
    /// The service's, without a slash at its end; the path is that of the request, as it was called.
    Service(String),
    /// The source's own: a proxy in between changes the path.
    Source(String),
}

/// How a new event is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckStatus {
    /// 200.
    #[default]
    Ok,
    /// 202.
    Accepted,
}

/// All of them, by name.
#[derive(Debug, Default)]
pub struct Sources(HashMap<Box<str>, Arc<Source>>);

impl Sources {
    /// The sources of a configuration.
    pub fn of(config: &Config, earlier_ids: &EarlierIds, metrics: &Metrics) -> Self {
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
        });
        sources.collect()
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.0.values()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The source with this name.
    pub fn get(&self, name: &str) -> Option<Arc<Source>> {
        self.0.get(name).cloned()
    }
}

/// In time for the sender to hear it: within four fifths of its own timeout, where that is known. An `ack_timeout` of
/// the operator's own that is longer is kept.
fn answer_within(source: &config::Source) -> Duration {
    let senders = source
        .provider
        .and_then(|provider| provider.delivery.timeout_seconds);
    let heard = senders.map(|seconds| Duration::from_secs(seconds.into()) * 4 / 5);
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
    /// The verifier with every secret that is known here.
    pub(super) fn verifier(&self) -> Arc<Verifier> {
        match &self.handed {
            Some(handed) => handed.verifier(),
            None => Arc::clone(&self.verifier),
        }
    }

    /// The public URL of a request, for senders that sign it; empty if it is not configured.
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

//! The shared state of all handlers on the admin port.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use hapax_core::{DestinationId, Secret, Timestamp};
use hapax_engine::Engine;
use hapax_seal::Sealed;
use hapax_verify::catalogue::Provider;
use hapax_verify::{Options, Recipe};
use tokio::sync::Semaphore;

use super::access::{Access, Gate, IdentityProvider, VisibleSources};
use super::api_error::ApiError;
use super::readiness::Readiness;
use super::store_counts::StoreCounts;
use hapax_alerts::Alerts;
use hapax_api::problem::Code;
use hapax_api::views::{DestinationView, SourceView};
use hapax_config::redact::Redaction;
use hapax_delivery::outbox::Outboxes;
use hapax_telemetry::Meter;

/// Maximum number of concurrent live tails.
pub(super) const STREAMS_MAX: usize = 64;

/// The state of the admin port. Cheap to clone.
#[derive(Clone)]
pub struct AdminState {
    /// The engine that executes operators' requests.
    pub engine: Engine,
    /// The settings, replaced as a whole on a reload.
    pub settings: Arc<ArcSwap<Settings>>,
    /// The counters since the start.
    pub meter: Arc<dyn Meter>,
    /// Whether this process is ready.
    pub readiness: Readiness,
    /// When the process started.
    pub started_at: Timestamp,
    /// Permits for live tails.
    pub streams: Arc<Semaphore>,
    /// The counts of the store.
    pub counts: StoreCounts,
    /// The in-memory state of access control.
    pub gate: Arc<Gate>,
    /// The sources that the caller sees.
    pub visible: VisibleSources,
    /// The outboxes that this process relays.
    pub outboxes: Option<Arc<Outboxes>>,
    /// The alerts of this process.
    pub alerts: Option<Arc<Alerts>>,
    /// The identity provider for sign-in without a token.
    pub identity_provider: Option<Arc<IdentityProvider>>,
    /// The keys of an encrypted store.
    pub encryption: Option<Arc<Sealed>>,
}

impl AdminState {
    /// With the outboxes that this process relays.
    #[must_use]
    pub fn with_outboxes(mut self, outboxes: Arc<Outboxes>) -> Self {
        self.outboxes = Some(outboxes);
        self
    }

    /// With the alerts of this process.
    #[must_use]
    pub fn with_alerts(mut self, alerts: Arc<Alerts>) -> Self {
        self.alerts = Some(alerts);
        self
    }

    /// With a client for the identity provider.
    #[must_use]
    pub fn with_identity_provider(mut self, provider: IdentityProvider) -> Self {
        self.identity_provider = Some(Arc::new(provider));
        self
    }

    /// With the keys of the store, if it is encrypted.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Option<Arc<Sealed>>) -> Self {
        self.encryption = encryption;
        self
    }

    /// The time by the service's clock.
    pub fn now(&self) -> Timestamp {
        self.engine.clock().now()
    }

    /// The state of a process that starts now.
    pub fn new(
        engine: Engine,
        settings: Arc<ArcSwap<Settings>>,
        meter: Arc<dyn Meter>,
        readiness: Readiness,
        started_at: Timestamp,
    ) -> Self {
        let streams = Arc::new(Semaphore::new(STREAMS_MAX));
        let gate = Arc::new(Gate::new(Arc::clone(engine.clock())));
        Self {
            engine,
            settings,
            meter,
            readiness,
            started_at,
            streams,
            counts: StoreCounts::default(),
            gate,
            visible: VisibleSources::All,
            outboxes: None,
            alerts: None,
            identity_provider: None,
            encryption: None,
        }
    }
}

/// The part of the configuration that the admin port shows or needs. The only secrets are its own tokens and one
/// secret per source, to sign exported events. Neither is ever shown.
#[derive(Clone, Debug)]
pub struct Settings {
    pub access: Access,
    /// Every source, ordered by name.
    pub sources: Vec<SourceView>,
    /// Every configured destination, ordered by name.
    pub destinations: Vec<DestinationSettings>,
    /// The effective configuration by section, such as `sources.shop`, without secrets.
    pub written: BTreeMap<String, String>,
    /// How the requests of each source are verified and signed.
    pub facts: BTreeMap<String, SourceFacts>,
}

/// How the requests of a source are verified and signed.
#[derive(Clone, Debug)]
pub struct SourceFacts {
    /// The provider, if the source has one.
    pub provider: Option<&'static Provider>,
    /// How they are verified.
    pub recipe: Recipe,
    /// Further settings that the provider requires.
    pub options: Options,
    /// The first of its secrets.
    pub secret: Option<Secret>,
    /// The URL of its webhooks: the public URL, or where the service listens.
    pub url: String,
    /// Body fields that are redacted for everyone.
    pub redact: Redaction,
}

impl SourceFacts {
    /// Where the id of an event is read from, in words.
    pub fn rule(&self) -> String {
        self.recipe.identity.event_id.to_string()
    }
}

/// A configured destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DestinationSettings {
    pub name: String,
    /// The stable id.
    pub id: DestinationId,
    /// The kind as written in the configuration.
    pub kind: String,
    /// The target it delivers to, without credentials.
    pub target: String,
}

impl Settings {
    /// The source with this name.
    pub fn source(&self, name: &str) -> Result<&SourceView, ApiError> {
        self.sources
            .iter()
            .find(|source| source.name == name)
            .ok_or_else(|| {
                let known = known_names(self.sources.iter().map(|source| source.name.as_str()));
                ApiError::new(
                    Code::UnknownSource,
                    format!("there is no source `{name}`; {known}"),
                )
            })
    }

    /// The id of the destination with this name or id.
    pub fn destination(&self, name: &str) -> Result<DestinationId, ApiError> {
        let by_name = self
            .destinations
            .iter()
            .find(|destination| destination.name == name);
        let found = by_name.or_else(|| self.destinations.iter().find(|one| one.id.as_str() == name));
        found.map(|destination| destination.id.clone()).ok_or_else(|| {
            let known = known_names(self.destinations.iter().map(|one| one.name.as_str()));
            ApiError::new(
                Code::UnknownDestination,
                format!("there is no destination `{name}`; {known}"),
            )
        })
    }

    /// The same for destinations that may no longer be configured: an unknown name is treated as an id.
    pub fn destination_or_id(&self, name: &str) -> DestinationId {
        self.destination(name)
            .unwrap_or_else(|_| DestinationId::from(name))
    }

    /// The configured destination with this id.
    pub fn by_id(&self, id: &DestinationId) -> Option<&DestinationSettings> {
        self.destinations.iter().find(|destination| destination.id == *id)
    }

    /// The name of the destination with this id, or the id itself.
    pub fn name_of(&self, id: &DestinationId) -> String {
        self.by_id(id)
            .map_or_else(|| id.to_string(), |destination| destination.name.clone())
    }
}

/// A few names for an error message.
fn known_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN_MAX: usize = 12;
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(SHOWN_MAX);
    names.truncate(SHOWN_MAX);
    match (names.is_empty(), more) {
        (true, _) => "none is configured".to_owned(),
        (false, 0) => format!("configured: {}", names.join(", ")),
        (false, more) => format!("configured: {} and {more} more", names.join(", ")),
    }
}

impl DestinationSettings {
    /// The view without run-time state.
    pub fn view(&self) -> DestinationView {
        DestinationView {
            name: self.name.clone(),
            id: self.id.to_string(),
            kind: Some(self.kind.clone()),
            target: Some(self.target.clone()),
            configured: true,
            paused: None,
            breaker_open_ms: None,
            running: 0,
            concurrency: 0,
        }
    }
}

//! Sources and destinations.

use hapax_core::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::RefusalView;

/// Every source.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourcesView {
    /// The sources, ordered by name.
    pub sources: Vec<SourceView>,
}

/// A source as it is configured.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceView {
    /// The source's name. Webhooks arrive at `/in/NAME`.
    pub name: String,
    /// The provider; null if the source configures its own signature scheme.
    pub provider: Option<String>,
    /// The scope in which its ids are unique.
    pub scope: String,
    /// The names of the destinations that receive its events.
    pub deliver_to: Vec<String>,
    /// The number of secrets it verifies signatures with.
    pub secrets: usize,
    /// How long the ledger remembers an id.
    pub ledger_window_seconds: u64,
    /// How long payloads are kept.
    pub payload_retention_seconds: u64,
    /// How long the payload of a dead letter is kept.
    pub dead_retention_seconds: u64,
    /// JSON pointers to indexed body fields.
    #[serde(default)]
    pub indexed: Vec<String>,
    /// How its requests are verified, in words; null for an outbox.
    #[serde(default)]
    pub scheme: Option<String>,
    /// Where the id of an event is read from; null for an outbox.
    #[serde(default)]
    pub event_id_rule: Option<String>,
    /// How reliable its ids are: `own-id`, `content` or `not-deduplicated`; null for an outbox.
    #[serde(default)]
    pub id_class: Option<String>,
    /// How a known id with a different body is handled: `keep` or `accept`; null for an outbox.
    #[serde(default)]
    pub on_conflict: Option<String>,
    /// The URL to enter at the provider; null if neither the source nor the server has a `public_url`.
    #[serde(default)]
    pub console_url: Option<String>,
    /// Whether the provider sends the secret that it signs with.
    #[serde(default)]
    pub takes_registrations: bool,
    /// The most recent requests that this process refused, newest first.
    #[serde(default)]
    pub refusals: Vec<RefusalView>,
}

/// An open registration.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegistrationView {
    /// The source that accepts a secret.
    pub source: String,
    /// When the registration closes.
    #[schema(value_type = String, format = DateTime)]
    pub open_until: Timestamp,
}

/// All destinations, including ones that are no longer configured but still have deliveries.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationsView {
    /// The destinations, ordered by name.
    pub destinations: Vec<DestinationView>,
}

/// A destination and its state.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DestinationView {
    /// The destination's name, or its id if it is no longer configured.
    pub name: String,
    /// The destination's stable id.
    pub id: String,
    /// The kind as written in the configuration, such as `http`; null if it is no longer configured.
    pub kind: Option<String>,
    /// The target it delivers to, without credentials.
    pub target: Option<String>,
    /// Whether it is configured.
    pub configured: bool,
    /// Who paused it, when and why.
    pub paused: Option<PauseView>,
    /// How long its circuit breaker stays open; null if it is closed.
    pub breaker_open_ms: Option<u64>,
    /// The number of attempts that are running in this process.
    pub running: u32,
    /// The maximum number of concurrent attempts in this process.
    pub concurrency: u32,
}

/// A pause of a destination.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PauseView {
    /// The destination's stable id.
    pub destination_id: String,
    /// When it was paused.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who paused it.
    pub by: String,
    /// The reason given.
    pub why: String,
}

/// A destination that was resumed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResumedView {
    /// The destination's stable id.
    pub destination_id: String,
    /// Whether it was paused before.
    pub was_paused: bool,
}
